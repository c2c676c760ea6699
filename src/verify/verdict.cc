#include "verify/verdict.h"

#include <array>
#include <cmath>

#include "base/error.h"

namespace tritogen {
namespace {

constexpr std::array<std::string_view, 12> kOutcomeNames = {
    "passed",       "compile_error",    "runtime_error", "wrong_shape", "wrong_dtype", "wrong_values",
    "memory_error", "nondeterministic", "timeout",       "killed",      "rejected",    "infra_error",
};

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
    outputs.push_back({{"output", error.output},
                       {"error", Number(error.candidate)},
                       {"eager_error", Number(error.eager)},
                       {"budget", Number(error.budget)},
                       {"allclose", Number(error.allclose)},
                       {"trial", error.trial}});
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
      {"seed", seed},
      {"plan_hash", plan_hash.empty() ? nlohmann::json() : nlohmann::json(plan_hash)},
      {"timing", timing},
      {"notes", notes},
      {"seconds", seconds},
  };
  return json;
}

}  // namespace tritogen
