// The order in which programs are timed and when that is enough. Pure: whoever can take samples of programs
// can use it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cuda/statistics.h"

namespace tritogen::cuda {

struct TimingOptions {
  size_t min_samples = 20;      // of the first program
  size_t max_samples = 1000;    // likewise
  double target_error = 0.002;  // stop when every median's standard error is under this share of it
  double budget_seconds = 2;    // wall clock, warm-up included; min_samples are taken all the same
  size_t enough_samples = 20;   // of another program whose median is known: then it is taken now and then
  size_t warmup_window = 5;     // warm-up ends when every rolling median moves by no more than …
  double warmup_tolerance = 0.01;
  double long_sample = 1000;       // microseconds: programs that take longer need windows of two samples only
  size_t max_warmup_samples = 50;  // … or after so many of each, or when half the budget is spent
  double hang_seconds = 30;        // a sample that takes longer hangs
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

// A sample of this program, in microseconds.
using TakeSample = std::function<double(size_t program)>;

// Warms up, then takes rounds A B …, … B A until the options say enough. Programs other than the first one
// skip rounds when they have been sampled often and their medians are known. `seconds` is a running clock.
// `on_measuring` is called once, between the two. REQUIRES: programs ≥ 1, max_samples ≥ min_samples ≥ 1.
Interleaved MeasureInterleaved(size_t programs, const TimingOptions& options, const TakeSample& take_sample,
                               const std::function<double()>& seconds,
                               const std::function<void()>& on_measuring);

}  // namespace tritogen::cuda
