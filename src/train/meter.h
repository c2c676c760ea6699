// How fast a run is.
#pragma once

#include <chrono>
#include <cstdint>

namespace tritogen::train {

// Counts the time between Resume and Pause. Rates are of the steps since the last Take.
class Meter {
 public:
  // `peak`: FLOP/s that the devices could do; 0: not known.
  explicit Meter(double peak) : peak_(peak) {}

  struct Rates {
    double tokens_per_second = 0, mfu = 0;
  };

  void Resume() { last_ = Clock::now(); }
  void Pause() { Count(); }
  void Add(int64_t tokens, double flops) {
    Count();
    tokens_ += static_cast<double>(tokens);
    flops_ += flops;
  }
  // Of what was counted since.
  Rates Take();
  double seconds() const { return all_seconds_; }  // in this process

 private:
  using Clock = std::chrono::steady_clock;
  void Count();

  double peak_;
  Clock::time_point last_ = Clock::now();
  double seconds_ = 0, all_seconds_ = 0, tokens_ = 0, flops_ = 0;
};

}  // namespace tritogen::train
