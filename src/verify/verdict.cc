#include "verify/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace tritogen {
namespace {

constexpr std::array<std::string_view, 12> kOutcomeNames = {
    "passed",       "compile_error",    "runtime_error", "wrong_shape", "wrong_dtype", "wrong_values",
    "memory_error", "nondeterministic", "timeout",       "killed",      "rejected",    "infra_error",
};

Outcome OutcomeNamed(std::string_view name) {
  const auto found = std::find(kOutcomeNames.begin(), kOutcomeNames.end(), name);
  if (found == kOutcomeNames.end()) throw FormatError(fmt::format("there is no outcome '{}'", name));
  return static_cast<Outcome>(found - kOutcomeNames.begin());
}

// The error that decides: the one furthest over (or closest to) its budget.
const OutputError* Worst(const std::vector<OutputError>& errors) {
  const OutputError* worst = nullptr;
  auto closeness = [](const OutputError& e) {
    return std::isfinite(e.candidate) ? e.candidate / (e.budget > 0 ? e.budget : 1e-300) : HUGE_VAL;
  };
  for (const OutputError& error : errors) {
    if (worst == nullptr || closeness(error) > closeness(*worst)) worst = &error;
  }
  return worst;
}

// JSON has no infinities; null says "not a number at all".
nlohmann::json Number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

}  // namespace

std::string_view OutcomeName(Outcome outcome) {
  const auto index = static_cast<size_t>(outcome);
  TRITOGEN_CHECK(index < kOutcomeNames.size());
  return kOutcomeNames[index];
}

double Verdict::max_error() const {
  const OutputError* worst = Worst(errors);
  return worst == nullptr ? 0 : worst->candidate;
}

double Verdict::error_budget() const {
  const OutputError* worst = Worst(errors);
  return worst == nullptr ? 0 : worst->budget;
}

nlohmann::json Verdict::ToJson() const {
  nlohmann::json outputs = nlohmann::json::array();
  for (const OutputError& error : errors) {
    nlohmann::json used = nlohmann::json::object();
    for (const auto& [trial, share] : error.used) used[trial] = Number(share);
    outputs.push_back({{"output", error.output},
                       {"error", Number(error.candidate)},
                       {"eager_error", Number(error.eager)},
                       {"budget", Number(error.budget)},
                       {"allclose", Number(error.allclose)},
                       {"trial", error.trial},
                       {"budget_used", std::move(used)}});
  }
  nlohmann::json json = {
      {"verdict", OutcomeName(outcome)},
      {"reason", reason},
      {"rule", rule.empty() ? nlohmann::json() : nlohmann::json(rule)},
      {"evidence", evidence},
      {"work_share", {{"flops", work.flops}, {"bytes", work.bytes}, {"share", work.share()}}},
      {"max_error", errors.empty() ? nlohmann::json() : Number(max_error())},
      {"error_budget", errors.empty() ? nlohmann::json() : Number(error_budget())},
      {"outputs", outputs},
      {"fp32_precision", Name(fp32_precision)},
      {"seed", seed},
      {"plan_hash", plan_hash.empty() ? nlohmann::json() : nlohmann::json(plan_hash)},
      {"timing", timing},
      {"notes", notes},
      {"unchanged_state", unchanged_state},
      {"other_state", other_state},
      {"seconds", seconds},
      {"cached", !made.empty()},
      {"stages", stages},
  };
  if (!made.empty()) json["made"] = made;
  return json;
}

Verdict Verdict::FromJson(const nlohmann::json& json) {
  auto text = [&](const char* key) { return json.at(key).is_null() ? "" : json.at(key).get<std::string>(); };
  auto number = [](const nlohmann::json& value) {
    return value.is_null() ? std::nan("") : value.get<double>();
  };
  Verdict verdict;
  verdict.outcome = OutcomeNamed(json.at("verdict").get<std::string>());
  verdict.reason = text("reason");
  verdict.rule = text("rule");
  verdict.evidence = json.at("evidence");
  for (const nlohmann::json& output : json.at("outputs")) {
    verdict.errors.push_back({.output = output.at("output").get<int>(),
                              .candidate = number(output.at("error")),
                              .eager = number(output.at("eager_error")),
                              .budget = number(output.at("budget")),
                              .allclose = number(output.at("allclose")),
                              .trial = output.at("trial").get<std::string>()});
    for (const auto& [trial, share] : output.at("budget_used").items())
      verdict.errors.back().used[trial] = share.is_null() ? HUGE_VAL : share.get<double>();
  }
  verdict.work = {json.at("work_share").at("flops").get<double>(),
                  json.at("work_share").at("bytes").get<double>()};
  const auto precision = ParseFp32Precision(json.at("fp32_precision").get<std::string>());
  if (!precision) throw FormatError("fp32_precision is none of ieee, pytorch, tf32");
  verdict.fp32_precision = *precision;
  verdict.seed = json.at("seed").get<uint64_t>();
  verdict.plan_hash = text("plan_hash");
  verdict.timing = json.at("timing");
  verdict.notes = json.at("notes").get<std::vector<std::string>>();
  verdict.unchanged_state = json.at("unchanged_state").get<std::vector<std::string>>();
  verdict.other_state = json.at("other_state").get<std::vector<std::string>>();
  verdict.seconds = json.at("seconds").get<double>();
  verdict.made = json.value("made", "");
  return verdict;
}

}  // namespace tritogen
