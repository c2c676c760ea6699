#include "data/record.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"
#include "base/json_cursor.h"

namespace tritogen::data {
namespace {

using nlohmann::json;

constexpr size_t kMostText = size_t{4} << 20;
constexpr size_t kMostItems = 4096;

double NumberOf(const JsonCursor& at) {
  if (!at.json().is_number()) at.Fail("expected a number");
  return at.json().get<double>();
}

std::vector<std::string> TextsOf(const JsonCursor& at) {
  std::vector<std::string> texts;
  const size_t size = at.Size(kMostItems);
  for (size_t i = 0; i < size; ++i) texts.push_back(at[i].String(kMostText));
  return texts;
}

}  // namespace

std::string Record::id() const {
  return fmt::format("{}-{}", draw, answer);
}

std::string ToLine(const Record& r) {
  nlohmann::ordered_json line = {{"id", r.id()},
                                 {"level", r.level},
                                 {"split", r.split},
                                 {"ops", r.ops},
                                 {"inputs", r.inputs},
                                 {"outputs", r.outputs},
                                 {"flops", r.flops},
                                 {"bytes", r.bytes},
                                 {"program", r.program},
                                 {"reference", r.reference},
                                 {"teacher", r.teacher},
                                 {"strategy", r.strategy},
                                 {"thoughts", r.thoughts},
                                 {"plan", r.plan},
                                 {"entry", r.entry},
                                 {"source", r.source},
                                 {"verdict", r.verdict},
                                 {"reason", r.reason},
                                 {"rule", r.rule},
                                 {"work_flops", r.work_flops},
                                 {"work_bytes", r.work_bytes},
                                 {"plan_hash", r.plan_hash},
                                 {"labels", r.labels},
                                 {"fingerprint", r.fingerprint},
                                 {"graph_fingerprint", r.graph_fingerprint},
                                 {"seed", r.seed},
                                 {"draw", r.draw},
                                 {"answer", r.answer}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

Record FromLine(std::string_view text) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const json line = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (line.is_discarded()) throw FormatError("no JSON");
  const JsonCursor at(line);
  auto text_at = [&](const char* key) { return at[key].String(kMostText); };
  Record r{.draw = at["draw"].Int(0),
           .seed = static_cast<uint64_t>(at["seed"].Int(0, kMost)),
           .program = text_at("program"),
           .reference = text_at("reference"),
           .fingerprint = text_at("fingerprint"),
           .graph_fingerprint = text_at("graph_fingerprint"),
           .split = text_at("split"),
           .level = static_cast<int>(at["level"].Int(0, 1 << 20)),
           .ops = TextsOf(at["ops"]),
           .inputs = TextsOf(at["inputs"]),
           .outputs = TextsOf(at["outputs"]),
           .flops = NumberOf(at["flops"]),
           .bytes = NumberOf(at["bytes"]),
           .answer = static_cast<int>(at["answer"].Int(0, 1 << 20)),
           .teacher = text_at("teacher"),
           .strategy = text_at("strategy"),
           .thoughts = text_at("thoughts"),
           .plan = text_at("plan"),
           .source = text_at("source"),
           .entry = text_at("entry"),
           .verdict = text_at("verdict"),
           .reason = text_at("reason"),
           .rule = text_at("rule"),
           .work_flops = NumberOf(at["work_flops"]),
           .work_bytes = NumberOf(at["work_bytes"]),
           .plan_hash = text_at("plan_hash")};
  at["labels"].ExpectObject();
  r.labels = nlohmann::ordered_json::parse(at["labels"].json().dump());
  if (text_at("id") != r.id()) at["id"].Fail(fmt::format("is not {}", r.id()));
  return r;
}

}  // namespace tritogen::data
