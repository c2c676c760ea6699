#include "eval/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json_cursor.h"

namespace tritogen::eval {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMostText = size_t{1} << 20;
constexpr size_t kMostAnswers = size_t{1} << 20;

ordered_json ToJson(const Estimate& e) {
  return {{"value", e.value}, {"low", e.low}, {"high", e.high}, {"tasks", e.count}};
}

std::string TextOr(const JsonCursor& at, const char* key, const std::string& fallback = "") {
  return at.Has(key) ? at[key].String(kMostText) : fallback;
}

// "no_answer: no_code"
std::string Reason(const JsonCursor& answer) {
  const std::string rule = TextOr(answer, "rule");
  const std::string& verdict = answer["verdict"].String(kMostText);
  return rule.empty() || verdict == "passed" ? verdict : fmt::format("{}: {}", verdict, rule);
}

// fast_p (KernelBench, arXiv 2502.10517, section 3.3): the share of all answers that pass and are more than p
// times as fast as eager PyTorch.
ordered_json FastOf(const std::vector<Cell::Answers>& tasks) {
  ordered_json fast;
  for (const double p : {0.5, 0.8, 1.0, 1.5, 2.0}) {
    std::vector<double> shares;
    for (const Cell::Answers& task : tasks) {
      if (task.samples == 0) continue;
      const auto faster = std::ranges::count_if(task.speedups, [&](double s) { return s > p; });
      shares.push_back(static_cast<double>(faster) / static_cast<double>(task.samples));
    }
    fast[fmt::format("{}", p)] = ToJson(MeanOf(shares));
  }
  return fast;
}

// Of the fastest answer to each task that has a timed one.
ordered_json SpeedupOf(const std::vector<Cell::Answers>& tasks) {
  std::vector<double> best;
  double logs = 0;
  for (const Cell::Answers& task : tasks) {
    if (task.speedups.empty()) continue;
    best.push_back(std::ranges::max(task.speedups));
    logs += std::log(best.back());
  }
  std::ranges::sort(best);
  const size_t n = best.size();
  return {{"median", (best[(n - 1) / 2] + best[n / 2]) / 2},
          {"geometric_mean", std::exp(logs / static_cast<double>(n))},
          {"tasks", n}};
}

// Which k are told for n samples: 1, 2, 4, …, n.
std::set<int64_t> Ks(int64_t samples) {
  std::set<int64_t> ks;
  for (int64_t k = 1; k < samples; k *= 2) ks.insert(k);
  if (samples > 0) ks.insert(samples);
  return ks;
}

}  // namespace

void Cell::Add(const Answers& answers) {
  tasks_.push_back(answers);
}

ordered_json Cell::ToJson() const {
  int64_t samples = 0, passed = 0, most = 0, repairs = 0;
  bool timed = false;
  std::vector<double> after_repair, plans, several;
  for (const Answers& task : tasks_) {
    samples += task.samples;
    passed += task.passed;
    repairs += task.repairs;
    timed |= !task.speedups.empty();
    most = std::max(most, task.samples);
    if (task.samples == 0) continue;
    const auto n = static_cast<double>(task.samples);
    after_repair.push_back(static_cast<double>(task.passed + task.mended) / n);
    if (task.passed > 0) plans.push_back(static_cast<double>(task.plans.size()));
    if (task.samples > 1) several.push_back(task.plans.size() > 1);
  }
  ordered_json json = {{"tasks", tasks_.size()}, {"answers", samples}, {"passed", passed}};
  json["pass"] = ordered_json::object();
  for (const int64_t k : Ks(most)) {
    std::vector<double> values;
    for (const Answers& task : tasks_) {
      if (task.samples >= k) values.push_back(PassAtK(task.samples, task.passed, k));
    }
    json["pass"][std::to_string(k)] = eval::ToJson(MeanOf(values));
  }
  if (repairs > 0) json["after_repair"] = eval::ToJson(MeanOf(after_repair));
  if (timed) {
    json["fast"] = FastOf(tasks_);
    json["speedup"] = SpeedupOf(tasks_);
  }
  double sum = 0;
  for (const double count : plans) sum += count;
  json["plans"] = {{"mean", plans.empty() ? 0.0 : sum / static_cast<double>(plans.size())},
                   {"several", eval::ToJson(MeanOf(several))}};
  return json;
}

void Score::Add(const nlohmann::json& result) {
  const JsonCursor at(result);
  at.ExpectObject();
  const std::string group = at["group"].String(kMostText);
  std::set<std::string> operators;
  const JsonCursor ops = at["ops"];
  for (size_t i = 0; i < ops.Size(kMostAnswers); ++i) operators.insert(ops[i].String(kMostText));
  const JsonCursor list = at["answers"];
  const size_t count = list.Size(kMostAnswers);
  std::map<std::string, Cell::Answers> answers;
  if (at.Has("reference_failed")) {
    ++left_out_;
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const JsonCursor answer = list[i];
    const std::string proposer = answer["proposer"].String(kMostText);
    Cell::Answers& mine = answers[proposer];
    OfProposer& all = proposers_[proposer];
    const bool passed = answer["verdict"].String(kMostText) == "passed";
    if (answer.Has("tokens")) {
      all.tokens += answer["tokens"].Int(0);
      ++all.with_tokens;
    }
    if (answer.Has("mends")) {
      ++mine.repairs;
      mine.mended += passed;
      ++all.repair_verdicts[Reason(answer)];
      continue;
    }
    ++mine.samples;
    mine.passed += passed;
    ++all.verdicts[Reason(answer)];
    if (const std::string reason = TextOr(answer, "reason"); !reason.empty())
      all.examples.emplace(Reason(answer), fmt::format("{}: {}", TextOr(at, "id"), reason));
    if (!passed) continue;
    mine.plans.insert(TextOr(answer, "plan_hash"));
    if (!answer.Has("speedup") || !answer["speedup"].json().is_number()) continue;
    if (const auto speedup = answer["speedup"].json().get<double>(); speedup > 0)
      mine.speedups.push_back(speedup);
  }
  ++tasks_;
  for (const auto& [proposer, mine] : answers) {
    OfProposer& all = proposers_[proposer];
    all.all.Add(mine);
    all.groups[group].Add(mine);
    for (const std::string& op : operators) all.operators[op].Add(mine);
  }
}

ordered_json Score::ToJson() const {
  ordered_json json = {{"tasks", tasks_}, {"left_out", left_out_}, {"proposers", ordered_json::object()}};
  const auto cells = [](const std::map<std::string, Cell>& of) {
    ordered_json object = ordered_json::object();
    for (const auto& [name, cell] : of) object[name] = cell.ToJson();
    return object;
  };
  for (const auto& [name, of] : proposers_) {
    ordered_json& one = json["proposers"][name];
    one = {{"all", of.all.ToJson()}, {"groups", cells(of.groups)}, {"verdicts", of.verdicts}};
    if (!of.repair_verdicts.empty()) one["repair_verdicts"] = of.repair_verdicts;
    one["examples"] = of.examples;
    one["operators"] = cells(of.operators);
    if (of.with_tokens > 0) {
      one["tokens"] = of.tokens;
      one["tokens_an_answer"] = static_cast<double>(of.tokens) / static_cast<double>(of.with_tokens);
    }
  }
  return json;
}

}  // namespace tritogen::eval
