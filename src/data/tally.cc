#include "data/tally.h"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "base/json_cursor.h"
#include "base/utf8.h"

namespace tritogen::data {
namespace {

constexpr int64_t kMost = int64_t{1} << 53;

int64_t CountOf(const JsonCursor& at) {
  return at.Int(0, kMost);
}

Tally::Counts CountsOf(const JsonCursor& at) {
  at.ExpectObject();
  Tally::Counts counts;
  for (const auto& [key, value] : at.json().items()) counts[key] = CountOf(at[key]);
  return counts;
}

std::map<std::string, Tally::Counts> TableOf(const JsonCursor& at) {
  at.ExpectObject();
  std::map<std::string, Tally::Counts> table;
  for (const auto& [key, value] : at.json().items()) table[key] = CountsOf(at[key]);
  return table;
}

void AddTo(const Tally::Counts& more, Tally::Counts* counts) {
  for (const auto& [key, count] : more) (*counts)[key] += count;
}

}  // namespace

void Tally::Count(const Record& record, const std::string& outcome) {
  ++levels[std::to_string(record.level)][outcome];
  for (const std::string& op : std::set<std::string>(record.ops.begin(), record.ops.end()))
    ++operators[op][outcome];
}

void Tally::Drop(const Record& record) {
  if (dropped[record.dropped]++ > 0) return;
  constexpr size_t kMostBytes = 300;
  std::string words = fmt::format("{}: {}", record.id(), fmt::join(record.ops, ", "));
  if (!record.strategy.empty()) words += fmt::format("; {}", record.strategy);
  if (!record.reason.empty()) words += fmt::format("; {}", record.reason);
  examples[record.dropped] = PrintableText(words, kMostBytes);
}

void Tally::Add(const Tally& other) {
  programs += other.programs;
  answered += other.answered;
  kept_programs += other.kept_programs;
  answers += other.answers;
  passed += other.passed;
  records += other.records;
  AddTo(other.dropped, &dropped);
  examples.insert(other.examples.begin(), other.examples.end());
  for (const auto& [key, counts] : other.levels) AddTo(counts, &levels[key]);
  for (const auto& [key, counts] : other.operators) AddTo(counts, &operators[key]);
}

nlohmann::ordered_json ToJson(const Tally& t) {
  return {{"programs", t.programs},  {"answered", t.answered}, {"kept_programs", t.kept_programs},
          {"answers", t.answers},    {"passed", t.passed},     {"records", t.records},
          {"dropped", t.dropped},    {"examples", t.examples}, {"levels", t.levels},
          {"operators", t.operators}};
}

Tally TallyFrom(const nlohmann::json& json) {
  const JsonCursor at(json);
  at.ExpectKeys({"programs", "answered", "kept_programs", "answers", "passed", "records", "dropped",
                 "examples", "levels", "operators"});
  Tally t{.programs = CountOf(at["programs"]),
          .answered = CountOf(at["answered"]),
          .kept_programs = CountOf(at["kept_programs"]),
          .answers = CountOf(at["answers"]),
          .passed = CountOf(at["passed"]),
          .records = CountOf(at["records"]),
          .dropped = CountsOf(at["dropped"]),
          .examples = {},
          .levels = TableOf(at["levels"]),
          .operators = TableOf(at["operators"])};
  const JsonCursor examples = at["examples"];
  examples.ExpectObject();
  for (const auto& [key, value] : examples.json().items()) t.examples[key] = examples[key].String(4096);
  return t;
}

}  // namespace tritogen::data
