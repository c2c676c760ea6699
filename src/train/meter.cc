#include "train/meter.h"

#include <utility>

namespace tritogen::train {

void Meter::Count() {
  const Clock::time_point now = Clock::now();
  const double passed = std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  seconds_ += passed;
  all_seconds_ += passed;
}

Meter::Rates Meter::Take() {
  const double seconds = std::exchange(seconds_, 0), tokens = std::exchange(tokens_, 0),
               flops = std::exchange(flops_, 0);
  if (seconds <= 0) return {};
  return {.tokens_per_second = tokens / seconds, .mfu = peak_ > 0 ? flops / seconds / peak_ : 0};
}

}  // namespace tritogen::train
