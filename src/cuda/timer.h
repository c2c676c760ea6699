// The clock. A sample is: L2 flushed, start event, the program, end event, so every program starts with an
// empty L2 and a GPU that has just been busy. Programs take turns in the order A B … B A, so that drift
// of clock and temperature meets all alike. One sample is on the stream at a time: queued behind each other
// they cost 10% less, but a host that queues the next one disturbs the program that runs
// (bench/clock_bench.cc on an H200: interquartile range 0.6 instead of 0.03 to 0.35 µs, medians 0.8 µs
// longer).
//
// Resolution: CUDA events tick every 32 ns on an H200, and recording them adds a constant of about 1 µs that
// is equal for all programs. Since each repetition needs a cold L2, a short program is not repeated inside a
// sample; its median over many samples is what can be had. Times under about 5 µs are mostly launch.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "cuda/interleave.h"
#include "cuda/nvml.h"

namespace tritogen::cuda {

// What to time: puts one run on the stream. It is called many times, and may throw.
struct Timed {
  std::string name;
  std::function<void(CUstream)> run;
  // What belongs before a run but not to it (fresh inputs); may be empty. Puts work on the stream, too, and
  // does not wait for it.
  std::function<void(CUstream)> prepare = {};
  // Looks at what the last run left, which is done; called after runs that nobody can foresee, one in 16; may
  // be empty.
  std::function<void()> check = {};
};

struct TimingReport {
  std::vector<Timing> timings;  // in the order of the programs
  ClockReport clocks;
  bool reached_target = false;  // every median is known as well as was asked for
  double wall_seconds = 0;
};

// A sample did not end in time. The process has to end: see SynchronizeWithin.
class Hang : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Not thread-safe; nothing else should run on the GPU meanwhile. REQUIRES: the context is current.
class Timer {
 public:
  Timer(const Driver& driver, const DeviceInfo& device);  // takes 1.5 × L2 of device memory; throws Error
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  CUstream stream() const;  // the one that `run` is called with

  // Throws Error, Hang, and whatever a program throws.
  TimingReport TimeInterleaved(const std::vector<Timed>& programs, const TimingOptions& options);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tritogen::cuda
