#include "cuda/interleave.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace tritogen::cuda {
namespace {

// Sorting all samples for the stopping rule takes longer than a short program.
constexpr size_t kRoundsBetweenChecks = 5;

// Who is compared with takes part in every fifth round once its median is known from enough samples. An odd
// number: these rounds go forth and back in turns, too.
constexpr size_t kSparseRounds = 5;

bool KnownWellEnough(const Timing& timing, double target_error) {
  const Summary summary = Summarize(timing.samples);
  return summary.standard_error <= target_error * summary.median;
}

// Rounds of all programs, forth and back in turns.
class Rounds {
 public:
  Rounds(size_t programs, const TakeSample& take_sample) : programs_(programs), take_sample_(take_sample) {}

  void StartForth() { back_ = false; }

  void Take(const std::function<bool(size_t program)>& takes_part,
            const std::function<void(size_t program, double microseconds)>& keep) {
    for (size_t k = 0; k < programs_; ++k) {
      const size_t i = back_ ? programs_ - 1 - k : k;
      if (takes_part(i)) keep(i, take_sample_(i));
    }
    back_ = !back_;
  }

 private:
  const size_t programs_;
  const TakeSample& take_sample_;
  bool back_ = false;
};

void WarmUp(const TimingOptions& options, const std::function<bool()>& late, Rounds* rounds,
            std::vector<Timing>* timings) {
  constexpr size_t kShortWindow = 2;
  std::vector<StabilityWatch> watches(timings->size(),
                                      StabilityWatch(options.warmup_window, options.warmup_tolerance));
  auto add = [&](size_t i, double sample) {
    if (watches[i].count() == 0 && sample > options.long_sample)
      watches[i] = StabilityWatch(std::min(options.warmup_window, kShortWindow), options.warmup_tolerance);
    watches[i].Add(sample);
  };
  auto stable = [&] {
    return std::all_of(watches.begin(), watches.end(), [](const auto& watch) { return watch.stable(); });
  };
  for (size_t count = 0; count < options.max_warmup_samples && !(count > 0 && late()) && !stable(); ++count) {
    rounds->Take([](size_t) { return true; }, add);
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
  Rounds rounds(programs, take_sample);
  WarmUp(
      options, [&] { return spent() > options.budget_seconds / 2; }, &rounds, &result.timings);
  on_measuring();
  rounds.StartForth();
  std::vector<bool> known(programs, false);
  for (size_t count = 0; count < options.max_samples;) {
    auto takes_part = [&](size_t i) {
      return i == 0 || !known[i] || count < options.enough_samples || count % kSparseRounds == 0;
    };
    rounds.Take(takes_part, [&](size_t i, double sample) { result.timings[i].samples.push_back(sample); });
    ++count;
    if (count >= options.min_samples && spent() > options.budget_seconds) break;
    if (count % kRoundsBetweenChecks != 0) continue;
    for (size_t i = 0; i < programs; ++i) known[i] = KnownWellEnough(result.timings[i], options.target_error);
    result.reached_target = std::find(known.begin(), known.end(), false) == known.end();
    if (count >= options.min_samples && result.reached_target) break;
  }
  for (Timing& timing : result.timings) timing.summary = Summarize(timing.samples);
  return result;
}

}  // namespace tritogen::cuda
