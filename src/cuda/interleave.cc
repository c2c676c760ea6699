#include "cuda/interleave.h"

#include <algorithm>

#include "base/error.h"

namespace tritogen::cuda {
namespace {

// Sorting all samples for the stopping rule takes longer than a short program.
constexpr size_t kRoundsBetweenChecks = 5;

bool KnownWellEnough(const std::vector<Timing>& timings, double target_error) {
  return std::all_of(timings.begin(), timings.end(), [&](const Timing& timing) {
    const Summary summary = Summarize(timing.samples);
    return summary.standard_error <= target_error * summary.median;
  });
}

void WarmUp(const TimingOptions& options, const TakeSample& take_sample, const std::function<bool()>& late,
            std::vector<Timing>* timings) {
  std::vector<StabilityWatch> watches(timings->size(),
                                      StabilityWatch(options.warmup_window, options.warmup_tolerance));
  bool stable = false;
  for (size_t round = 0; round < options.max_warmup_samples && !stable && !(round > 0 && late()); ++round) {
    stable = true;
    for (size_t i = 0; i < watches.size(); ++i) {
      watches[i].Add(take_sample(i));
      stable = stable && watches[i].stable();
    }
  }
  for (size_t i = 0; i < watches.size(); ++i) {
    (*timings)[i].warmup_samples = watches[i].count();
    (*timings)[i].stable = watches[i].stable();
  }
}

}  // namespace

Interleaved MeasureInterleaved(size_t programs, const TimingOptions& options, const TakeSample& take_sample,
                               const std::function<double()>& seconds,
                               const std::function<void()>& on_measuring) {
  TRITOGEN_CHECK(programs >= 1 && options.min_samples >= 1 && options.max_samples >= options.min_samples);
  Interleaved result{std::vector<Timing>(programs), false};
  const double start = seconds();
  auto spent = [&] { return seconds() - start; };
  WarmUp(
      options, take_sample, [&] { return spent() > options.budget_seconds / 2; }, &result.timings);
  on_measuring();
  auto sample = [&](size_t i) { result.timings[i].samples.push_back(take_sample(i)); };
  for (size_t round = 1, count = 0; count < options.max_samples; ++round) {
    for (size_t i = 0; i < programs; ++i) sample(i);
    if (++count < options.max_samples) {
      for (size_t i = programs; i-- > 0;) sample(i);
      ++count;
    }
    if (count < options.min_samples) continue;
    if (spent() > options.budget_seconds) break;
    if (round % kRoundsBetweenChecks != 0) continue;
    if ((result.reached_target = KnownWellEnough(result.timings, options.target_error))) break;
  }
  for (Timing& timing : result.timings) timing.summary = Summarize(timing.samples);
  return result;
}

}  // namespace tritogen::cuda
