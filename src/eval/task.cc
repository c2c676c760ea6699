#include "eval/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/json_cursor.h"
#include "base/json_text.h"
#include "base/splitmix.h"
#include "base/text.h"
#include "data/draw.h"
#include "program/parse.h"

namespace tritogen::eval {
namespace {

constexpr size_t kMostText = size_t{4} << 20;
constexpr int64_t kMostDraws = 10'000'000;

constexpr std::pair<const char*, Split> kSplits[] = {{"held-out", Split::kHeldOut},
                                                     {"train", Split::kTrain},
                                                     {"pairs", Split::kPairs},
                                                     {"shapes", Split::kShapes}};

std::string NameOf(Split split) {
  for (const auto& [name, value] : kSplits) {
    if (value == split) return name;
  }
  TRITOGEN_CHECK(false);
}

bool Belongs(Split split, const data::Record& record) {
  if (split == Split::kHeldOut) return record.split == "test";
  return split != Split::kTrain || record.split == "train";
}

void CheckSuite(const data::ProgramOptions& programs, const SynthSuite& suite) {
  if (suite.split == Split::kHeldOut && programs.test_share <= 0)
    throw UserError("--split held-out: the configuration's programs.test_share is 0: no program is held out");
  if (suite.split == Split::kPairs && programs.held_out.empty())
    throw UserError("--split pairs: the configuration holds nothing out (programs.held_out)");
  const bool operators = synth::HeldOut::Parse(programs.held_out).operators.empty();
  if (suite.split == Split::kPairs && operators && std::ranges::min(suite.levels) < 2)
    throw UserError("--split pairs: a program of level 1 has no pair of operators; give --level 2 or more");
}

Task TaskOf(data::Record record, const std::string& id) {
  return {.id = id,
          .group = fmt::format("level {}", record.level),
          .ops = std::move(record.ops),
          .fingerprint = std::move(record.fingerprint),
          .graph_fingerprint = std::move(record.graph_fingerprint),
          .reference = {std::move(record.reference), "Model", false},
          .program = std::move(record.parsed)};
}

Task TaskFrom(std::string_view line, int64_t number) {
  const nlohmann::json json = ParseJson(line);
  const JsonCursor at(json);
  at.ExpectObject();
  const auto text = [&](const char* key, const std::string& fallback) {
    return at.Has(key) && !at[key].json().is_null() ? at[key].String(kMostText) : fallback;
  };
  const bool has_level = at.Has("level") && at["level"].json().is_number_integer();
  Task task{.id = text("id", fmt::format("line {}", number)),
            .group = text("group", has_level ? fmt::format("level {}", at["level"].json().get<int64_t>()) : "all"),
            .reference = {text("reference", ""), text("entry", "Model"), false}};
  if (task.reference.text.empty()) throw FormatError("it has no text field 'reference'");
  if (const std::string program = text("program", ""); !program.empty())
    task.program = std::make_shared<const Program>(ParseProgram(program));
  return task;
}

}  // namespace

const Split* SplitNamed(std::string_view name) {
  for (const auto& [text, split] : kSplits) {
    if (text == name) return &split;
  }
  return nullptr;
}

std::vector<std::string> SplitNames() {
  std::vector<std::string> names;
  for (const auto& [name, split] : kSplits) names.emplace_back(name);
  return names;
}

std::vector<Task> DrawTasks(const data::BuildOptions& options, const SynthSuite& suite,
                            const std::function<void(int64_t)>& progress,
                            const std::function<bool()>& stop) {
  data::ProgramOptions programs = options.programs;
  CheckSuite(programs, suite);
  if (suite.split == Split::kShapes) {
    programs.sizes = suite.sizes.empty() ? options.eval.shapes : suite.sizes;
    if (programs.sizes.empty())
      throw UserError("--split shapes: which sizes? Give --sizes, or eval.shapes in the configuration");
  }
  std::vector<Task> tasks;
  for (const int level : suite.levels) {
    const std::string operators = options.levels.empty() ? "all" : options.levels[0].operators;
    data::Draw draw(SplitMix::At(suite.seed, static_cast<uint64_t>(level)), programs,
                    {{.level = level, .programs = kMostDraws, .operators = operators}},
                    suite.split == Split::kPairs);
    for (int64_t count = 0; count < suite.count && !stop();) {
      data::Record record = draw.Next();
      if (!Belongs(suite.split, record)) continue;
      tasks.push_back(
          TaskOf(std::move(record), fmt::format("{}/{}/{}", NameOf(suite.split), level, count++)));
      progress(static_cast<int64_t>(tasks.size()));
    }
  }
  return tasks;
}

std::vector<Task> ReadTasks(std::string_view text, const std::string& file) {
  std::vector<Task> tasks;
  std::map<std::string, int64_t> lines;
  for (int64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = Trimmed(TakeLine(&text));
    if (line.empty()) continue;
    try {
      tasks.push_back(TaskFrom(line, number));
    } catch (const FormatError& error) {
      throw UserError(fmt::format("{}, line {}: {}", file, number, error.what()));
    }
    const auto [first, fresh] = lines.emplace(tasks.back().id, number);
    if (!fresh)
      throw UserError(fmt::format("{}: lines {} and {} have the same id '{}'", file, first->second, number,
                                  first->first));
  }
  if (tasks.empty()) throw UserError(fmt::format("{} holds no task", file));
  return tasks;
}

}  // namespace tritogen::eval
