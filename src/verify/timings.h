// Times of a candidate and its baselines on the GPU, taken in turns by one clock, with the answers of timed
// calls checked.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cuda/timer.h"
#include "verify/rules.h"
#include "verify/verifier_task.h"

namespace tritogen {

struct ProgramTimes {
  std::string name;
  cuda::Timing timing;                                // by the method that all programs share
  std::optional<double> graph_median, replay_median;  // microseconds, by each method
};

struct Timings {
  std::string device, driver;
  bool graphs = false;  // the shared method: captured graphs, or steps put on the stream one by one
  ProgramTimes candidate;
  std::vector<ProgramTimes> baselines;  // "eager fp32", "eager tf32"; by `pytorch` "eager pytorch", too
  std::optional<ProgramTimes> itself;   // the candidate's Plan once more, in other memory
  std::vector<double> variants;         // medians in microseconds, by variant of autotuned launches
  int variant = 0;                      // the fastest one, which was timed
  double floor_us = 0;                  // for `flops` and `bytes` at the device's peaks
  bool bytes_bound = true;              // which of the two sets it
  double flops = 0;                     // of the reference
  double bytes = 0;                     // inputs, state and outputs, each moved once
  double peak_flops = 0, peak_bytes_per_s = 0;
  cuda::ClockReport clocks;

  nlohmann::json ToJson() const;  // docs/formats/verdict.md, `timing`
};

// REQUIRES: the Gpu is open and the candidate is right with these bindings, in the first so many `variants`
// of autotuned launches, from which the fastest is chosen. An Objection when a timed call goes wrong, or when
// the candidate is faster than the memory allows.
std::variant<Timings, Objection> TimeCandidate(const Task::Impl& task, const Setting& setting,
                                               const Plan& candidate, const Bindings& bindings,
                                               const VerifyOptions& options, int variants);

}  // namespace tritogen
