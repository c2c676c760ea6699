// Verdict: what the verifier says of a candidate, with evidence a person can act on. Its JSON form
// is docs/formats/verdict.md.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fp32_precision.h"

namespace tritogen {

enum class Outcome {
  kPassed,
  kCompileError,
  kRuntimeError,
  kWrongShape,
  kWrongDtype,
  kWrongValues,
  kMemoryError,
  kNondeterministic,
  kTimeout,
  kKilled,
  kRejected,
  kInfraError,
};
std::string_view OutcomeName(Outcome outcome);  // "passed", "compile_error", …

// Error of one output against the reference in fp64, over all trials: the worst one.
struct OutputError {
  int output = 0;
  double candidate = 0;  // max |candidate − fp64| / scale
  double eager = 0;      // the same for the eager program in the declared precision
  double budget = 0;     // what candidate may be at most
  // Share of elements inside KernelBench's tolerance, inputs as generated; NaN: no such trial ran.
  double allclose = 0;
  std::string trial;  // the input distribution in which it was worst
  // By input distribution: the error in terms of its budget where that is largest. Infinite: NaN or Inf do
  // not match, or nothing is allowed.
  std::map<std::string, double> used = {};
};

struct WorkShare {
  double flops = 0;  // share of the reference's FLOPs that the candidate does in Triton, 0…1
  double bytes = 0;
  double share() const { return flops < bytes ? flops : bytes; }
};

struct Verdict {
  Outcome outcome = Outcome::kInfraError;
  std::string reason;  // one sentence
  std::string rule;    // for kRejected; "tf32" or "half" for a precision downgrade
  // Which output, where, expected, got; which line; which control.
  nlohmann::json evidence = nlohmann::json::object();
  std::vector<OutputError> errors;  // empty when it never ran
  WorkShare work;
  double max_error() const;     // worst candidate error relative to its budget's scale
  double error_budget() const;  // the budget of that output
  Fp32Precision fp32_precision = Fp32Precision::kIeee;  // the contract
  uint64_t seed = 0;
  std::string plan_hash;           // of the candidate; empty when there is no Plan
  nlohmann::json timing;           // docs/formats/verdict.md; null: nothing was timed
  std::vector<std::string> notes;  // weak jail, hardened inputs, neutral affine parameters, …
  // State that the reference updates in a call: what the candidate leaves as it was, and where it leaves
  // other values than the reference. No fault of the call's answer.
  std::vector<std::string> unchanged_state, other_state;
  // Time or memory ran short: something was left out that another run may do; notes say what.
  bool hurried = false;
  std::string made;  // "2026-01-31T12:00:00Z" where it is an earlier run's, out of the cache
  double seconds = 0;
  std::map<std::string, double> stages;  // of these, by what they were spent on

  nlohmann::json ToJson() const;
  // What ToJson gave. Throws nlohmann::json::exception or FormatError for anything else.
  static Verdict FromJson(const nlohmann::json& json);
};

}  // namespace tritogen
