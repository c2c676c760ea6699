#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tritogen::train {

double LearningRate(const ScheduleOptions& options, int64_t step, int64_t total) {
  const auto at = static_cast<double>(step), warmup = static_cast<double>(options.warmup);
  if (step < options.warmup) return options.lr * (at + 1) / warmup;
  if (total <= 0) return options.lr;
  const double begin = options.shape == "cosine"
                           ? warmup
                           : std::max(warmup, (1 - options.decay_share) * static_cast<double>(total));
  const double length = std::max(1.0, static_cast<double>(total) - begin);
  const double share = std::clamp((at - begin) / length, 0.0, 1.0);
  const double left =
      options.shape == "cosine" ? 0.5 * (1 + std::cos(std::numbers::pi * share)) : 1 - std::sqrt(share);
  return options.min_lr + (options.lr - options.min_lr) * left;
}

}  // namespace tritogen::train
