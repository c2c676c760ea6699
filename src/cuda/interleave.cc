#include "cuda/interleave.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace tritogen::cuda {
namespace {

// In one queue: the driver's own holds 1024 launches, and who waits for room there is out of the watchdog's
// reach. A sample is six of them at the least.
constexpr size_t kMostQueued = 64;

// Sorting all samples for the stopping rule takes longer than a short program.
constexpr size_t kSamplesBetweenChecks = 10;

bool KnownWellEnough(const std::vector<Timing>& timings, double target_error) {
  return std::all_of(timings.begin(), timings.end(), [&](const Timing& timing) {
    const Summary summary = Summarize(timing.samples);
    return summary.standard_error <= target_error * summary.median;
  });
}

// Rounds of all programs, forth and back in turns.
class Rounds {
 public:
  using Keep = std::function<void(size_t program, double microseconds)>;

  Rounds(size_t programs, const TimingOptions& options, const TakeSamples& take_samples,
         const std::function<double()>& seconds)
      : programs_(programs), options_(options), take_samples_(take_samples), seconds_(seconds) {}

  void StartForth() { back_ = false; }

  // As many rounds as may be queued: one until it is known how long a round takes. Returns their number.
  // REQUIRES: most ≥ 1.
  size_t Take(size_t most, const Keep& keep) {
    const size_t rounds = std::min(most, fitting_);
    std::vector<size_t> order;
    for (size_t round = 0; round < rounds; ++round, back_ = !back_) {
      for (size_t i = 0; i < programs_; ++i) order.push_back(back_ ? programs_ - 1 - i : i);
    }
    const double start = seconds_();
    const std::vector<double> samples = take_samples_(order);
    const double spent = seconds_() - start;
    for (size_t k = 0; k < order.size(); ++k) keep(order[k], samples[k]);
    const double most_queued = std::max(1.0, static_cast<double>(kMostQueued / programs_));
    const double fit = options_.queue_seconds * static_cast<double>(rounds) / std::max(spent, 1e-9);
    fitting_ = static_cast<size_t>(std::clamp(fit, 1.0, most_queued));
    return rounds;
  }

 private:
  const size_t programs_;
  const TimingOptions& options_;
  const TakeSamples& take_samples_;
  const std::function<double()>& seconds_;
  bool back_ = false;
  size_t fitting_ = 1;
};

void WarmUp(const TimingOptions& options, const std::function<bool()>& late, Rounds* rounds,
            std::vector<Timing>* timings) {
  std::vector<StabilityWatch> watches(timings->size(),
                                      StabilityWatch(options.warmup_window, options.warmup_tolerance));
  auto stable = [&] {
    return std::all_of(watches.begin(), watches.end(), [](const auto& watch) { return watch.stable(); });
  };
  const size_t least = 2 * options.warmup_window;  // before that nothing is stable
  for (size_t count = 0; count < options.max_warmup_samples && !(count > 0 && late()) && !stable();) {
    const size_t wanted = std::min(std::max(least, count + 1), options.max_warmup_samples);
    count += rounds->Take(wanted - count, [&](size_t i, double sample) { watches[i].Add(sample); });
  }
  for (size_t i = 0; i < watches.size(); ++i) {
    (*timings)[i].warmup_samples = watches[i].count();
    (*timings)[i].stable = watches[i].stable();
  }
}

}  // namespace

Interleaved MeasureInterleaved(size_t programs, const TimingOptions& options, const TakeSamples& take_samples,
                               const std::function<double()>& seconds,
                               const std::function<void()>& on_measuring) {
  TRITOGEN_CHECK(programs >= 1 && options.min_samples >= 1 && options.max_samples >= options.min_samples);
  Interleaved result{std::vector<Timing>(programs), false};
  const double start = seconds();
  auto spent = [&] { return seconds() - start; };
  Rounds rounds(programs, options, take_samples, seconds);
  WarmUp(
      options, [&] { return spent() > options.budget_seconds / 2; }, &rounds, &result.timings);
  on_measuring();
  rounds.StartForth();
  for (size_t count = 0, check = options.min_samples; count < options.max_samples;) {
    count += rounds.Take(std::min(check, options.max_samples) - count,
                         [&](size_t i, double sample) { result.timings[i].samples.push_back(sample); });
    if (count < options.min_samples) continue;
    if (spent() > options.budget_seconds) break;
    if (count < check) continue;
    if ((result.reached_target = KnownWellEnough(result.timings, options.target_error))) break;
    check = count + kSamplesBetweenChecks;
  }
  for (Timing& timing : result.timings) timing.summary = Summarize(timing.samples);
  return result;
}

}  // namespace tritogen::cuda
