// The order in which programs are timed and when that is enough. Pure: whoever can take samples of programs
// can use it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cuda/statistics.h"

namespace tritogen::cuda {

struct TimingOptions {
  size_t min_samples = 20;
  size_t max_samples = 1000;    // of each program
  double target_error = 0.002;  // stop when every median's standard error is under this share of it
  double budget_seconds = 2;    // wall clock, warm-up included; min_samples are taken all the same
  size_t warmup_window = 5;     // warm-up ends when every rolling median moves by no more than …
  double warmup_tolerance = 0.01;
  size_t max_warmup_samples = 50;  // … or after so many of each, or when half the budget is spent
  // Samples that are put on the stream before the host waits for them take about so long together; 0: one at
  // a time. For programs that are one call of the driver, like a graph: when the host has more to do than the
  // GPU, how long a program takes depends on how much is queued before it.
  double queue_seconds = 0;
  double hang_seconds = 30;  // a sample that takes longer hangs
  bool cold_l2 = true;
};

struct Timing {
  std::string name;
  Summary summary;              // microseconds
  std::vector<double> samples;  // microseconds, in the order they were taken
  size_t warmup_samples = 0;
  bool stable = false;  // warm-up ended because the median stood still
};

struct Interleaved {
  std::vector<Timing> timings;  // names are the caller's business
  bool reached_target = false;  // ended because the medians are known well enough
};

// A sample of each of these programs, in this order, in microseconds.
using TakeSamples = std::function<std::vector<double>(std::span<const size_t>)>;

// Warms up, then takes rounds A B …, … B A until the options say enough. `seconds` is a running clock.
// `on_measuring` is called once, between the two. REQUIRES: programs ≥ 1, max_samples ≥ min_samples ≥ 1.
Interleaved MeasureInterleaved(size_t programs, const TimingOptions& options, const TakeSamples& take_samples,
                               const std::function<double()>& seconds,
                               const std::function<void()>& on_measuring);

}  // namespace tritogen::cuda
