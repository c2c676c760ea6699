// The learning rate of each step.
#pragma once

#include <cstdint>
#include <string>

namespace tritogen::train {

struct ScheduleOptions {
  double lr = 1e-3, min_lr = 0;
  int64_t warmup = 100;       // steps
  std::string shape = "wsd";  // or "cosine"
  double decay_share = 0.2;   // wsd: the last part of the steps, in which the rate falls
};

// Of step `step` from 0. Warm-up: linear, to the full rate in its last step. Then "cosine": half a wave down
// to the least rate (Loshchilov and Hutter 2017); "wsd": the full rate, and at the end down by 1 - √share of
// the decay (Hägele et al. 2024, arXiv 2405.18392). `total` 0: not known yet, the end is far.
double LearningRate(const ScheduleOptions& options, int64_t step, int64_t total);

}  // namespace tritogen::train
