// Verdicts in their JSON form for the tests of what commands show.
#pragma once

#include <nlohmann/json.hpp>

#include "verify/verdict.h"

namespace tritogen {

inline nlohmann::json PassedVerdict() {
  Verdict verdict{.outcome = Outcome::kPassed, .reason = "right in 8 trials"};
  verdict.errors = {
      {.output = 0, .candidate = 1e-7, .eager = 1e-7, .budget = 1e-5, .allclose = 1, .trial = "generated"},
      {.output = 1, .candidate = 2.5e-4, .eager = 2e-4, .budget = 4e-4, .allclose = 1, .trial = "spread"}};
  verdict.work = {.flops = 1, .bytes = 0.75};
  verdict.seed = 7;
  verdict.plan_hash = "00ff";
  return verdict.ToJson();
}

inline nlohmann::json TimedVerdict() {
  nlohmann::json verdict = PassedVerdict();
  verdict["timing"] = {
      {"device", "NVIDIA H200"}, {"candidate", {{"median_us", 12.34}}}, {"speedup", {{"eager fp32", 1.805}}}};
  return verdict;
}

inline nlohmann::json FailedVerdict() {
  Verdict verdict{.outcome = Outcome::kRuntimeError, .reason = "line 3: no luck", .seed = 7};
  return verdict.ToJson();
}

}  // namespace tritogen
