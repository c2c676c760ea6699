#include "verify/verifier_second_look.h"

#include <ATen/ATen.h>

#include <cmath>

#include "base/stages.h"
#include "device/device_errors.h"
#include "device/random.h"
#include "verify/verifier_edges.h"
#include "verify/verifier_reference.h"

namespace tritogen {
namespace {

// Of a candidate's seconds, what the reference may take for it.
constexpr double kShareOfBudget = 0.25;
// Of the elements behind a jump at least so many are right in a program that is.
constexpr double kLeastShareRight = 0.5;
// Where few places are off, and by so much that a tolerance shows it, they may be as far off in the next run
// of the eager program, whatever their budget says; another precision is off everywhere.
constexpr double kShareAlmostAll = 0.999;
// Less than that of the output's scale is what fp64 rounds, and no program in float32 knows of.
constexpr double kNoBudget = 1e-12;
// Of the output's scale what rounding of numbers near one may come to, where others are multiplied by it.
constexpr double kShareOfOne = 0.01;
// What jumps within bring about is allowed so many times in a row, not as often as other noise.
constexpr double kTimesTurned = 2;
// Of the largest error of the eager program so many times is allowed anywhere, where differences cancel.
constexpr double kTimesCancelled = 2;

// Floats that are off by a number, which more noise may excuse; of places (argmax) values are asked about.
bool IsOffByANumber(const Task::Impl& task, const Trial& trial, size_t output, const Comparison& comparison) {
  return at::isFloatingType(trial.outputs[output].expected.dtype()) && !task.index_sources[output] &&
         std::isfinite(comparison.error);
}

}  // namespace

const std::vector<OutputCheck>* SecondLook::Checks(const Trial& trial) {
  if (!tried_) {
    tried_ = true;
    const Stage stage("second look");
    try {
      made_ = Make(trial);
    } catch (const std::exception& error) {
      if (!SaysOutOfMemory(error)) throw;
    }
    if (!made_) checks_.clear();
  }
  return made_ ? &checks_ : nullptr;
}

bool SecondLook::Make(const Trial& trial) {
  const Deadline deadline(kShareOfBudget * task_.options.budget_seconds);
  checks_ = trial.outputs;
  const auto ranges = RangesAtEdges(task_, *bindings_, trial, deadline);
  if (!ranges) return false;
  std::vector<size_t> widened;
  for (size_t i = 0; i < checks_.size(); ++i) {
    checks_[i].up = (*ranges)[i].up;
    checks_[i].down = (*ranges)[i].down;
    Expectation& expected = checks_[i].expected;
    for (const at::Tensor& turned : (*ranges)[i].turned) {
      const at::Tensor change = (turned - expected.exact()) * (kTimesTurned / expected.multiple());
      expected.Widen(expected.exact() + change);
    }
    if (at::isFloatingType(checks_[i].expected.dtype()) && !task_.IgnoresMoved(i)) widened.push_back(i);
  }
  return widened.empty() || Widen(trial, deadline, widened);
}

bool SecondLook::Widen(const Trial& trial, const Deadline& deadline, const std::vector<size_t>& outputs_of) {
  MovedRuns runs(task_, deadline, {.inside = true, .sums = !task_.spares_memory});
  if (runs.SetUp(*bindings_)) return false;
  for (int number = 0; number < kMoreRuns; ++number) {
    TensorList outputs;
    if (runs.Run(number, trial.inputs, trial.run_seed, trial.exact, &outputs)) return false;
    for (const size_t i : outputs_of) {
      Expectation& expected = checks_[i].expected;
      expected.Widen(task_.cuts_factors ? AllowedCut(expected.exact(), outputs[i]) : outputs[i]);
    }
  }
  if (!task_.narrow && !task_.cuts_factors) WidenByEager(trial, deadline, outputs_of);
  return true;
}

void SecondLook::WidenByEager(const Trial& trial, const Deadline& deadline,
                              const std::vector<size_t>& outputs_of) {
  MovedRuns runs(task_, deadline, {.times = kTimesApart, .errors = true});
  if (runs.SetUp(*bindings_)) return;
  TensorList largest(checks_.size());
  for (int number = 0; number < kMoreRuns; ++number) {
    TensorList errors;
    if (runs.Run(number, trial.inputs, trial.run_seed, trial.exact, &errors)) return;
    for (const size_t i : outputs_of) {
      checks_[i].expected.Widen(checks_[i].expected.exact() + errors[i]);
      if (!MayCancel(trial.distribution) || errors[i].numel() == 0) continue;
      const at::Tensor most = errors[i].abs().nan_to_num(0, 0, 0).max();
      largest[i] = largest[i].defined() ? at::maximum(largest[i], most) : most;
    }
  }
  for (const size_t i : outputs_of)
    if (largest[i].defined()) AllowEverywhere(largest[i], trial.run_seed, &checks_[i].expected);
}

// A distance of nothing is the root of what rounding leaves of squares, 10^-3 where its neighbours' errors
// are 10^-6, and stands alone in its row and in its column: there the root mean square says nothing of it.
void SecondLook::AllowEverywhere(const at::Tensor& error, uint64_t seed, Expectation* expected) {
  const at::Tensor& exact = expected->exact();
  const at::Tensor moved = error * (kTimesCancelled / expected->multiple());
  expected->Widen(exact + moved * Random(seed, exact.device()).Signs(exact.sizes()));
}

bool MayBeLuck(const Task::Impl& task, const Trial& trial, size_t output, const Comparison& comparison) {
  // The variance of equal numbers is zero, and so is what is left of each without their mean, but for fp64's
  // own rounding: whatever noise there is shows when these move each by itself.
  const bool hidden = task.moves_inside && comparison.budget < kNoBudget;
  // So is a number near one behind small values, of which little is left, and behind what multiplies these.
  const bool near_one = task.passes_one && comparison.error < kShareOfOne;
  return IsOffByANumber(task, trial, output, comparison) &&
         (comparison.error < kLuck * comparison.budget || hidden || near_one);
}

bool DeservesSecondLook(const Task::Impl& task, const Trial& trial, size_t output,
                        const Comparison& comparison) {
  if (MayBeLuck(task, trial, output, comparison)) return true;
  // Slices that are empty, or next to nothing beside what is added to them, have exact statistics in the
  // eager program, and a norm of nothing but rounding errors makes these 300 times as large.
  const bool exact = task.moves_inside && (trial.distribution == Distribution::kBinary ||
                                           trial.distribution == Distribution::kTiny);
  const bool few = comparison.allclose < 1 && comparison.allclose >= kShareAlmostAll;
  if ((few || exact || MayCancel(trial.distribution)) && IsOffByANumber(task, trial, output, comparison))
    return true;
  const bool jumps = task.Jumps(output) || !task.within[output].empty();
  if ((task.edges[output].empty() && !jumps) || task.index_sources[output] ||
      !std::isfinite(comparison.error))
    return false;
  if (jumps) return comparison.allclose >= kLeastShareRight;
  // A row that is flat throughout has no noise of its own.
  const Expectation& expected = trial.outputs[output].expected;
  return comparison.error * expected.scale() < kLuck * expected.rms_budget();
}

void LookAgain(const Task::Impl& task, const Trial& trial, std::span<const at::Tensor> outputs,
               std::span<PendingComparison> comparisons) {
  std::vector<size_t> over;
  for (size_t i = 0; i < comparisons.size(); ++i) {
    const Comparison& comparison = comparisons[i].Get();
    if (comparison.ok) continue;
    if (!trial.second_look || !DeservesSecondLook(task, trial, i, comparison)) return;
    over.push_back(i);
  }
  const std::vector<OutputCheck>* checks = over.empty() ? nullptr : trial.second_look->Checks(trial);
  if (checks == nullptr) return;
  for (const size_t i : over) comparisons[i] = (*checks)[i].Compare(task.index_sources[i], outputs[i]);
}

Comparison LookTwice(const Task::Impl& task, const Trial& trial, size_t output, const at::Tensor& got) {
  const Comparison comparison = trial.outputs[output].Compare(task.index_sources[output], got);
  if (comparison.ok || !trial.second_look || !DeservesSecondLook(task, trial, output, comparison))
    return comparison;
  const std::vector<OutputCheck>* checks = trial.second_look->Checks(trial);
  return checks == nullptr ? comparison : (*checks)[output].Compare(task.index_sources[output], got);
}

std::vector<Comparison> CompareAll(const Task::Impl& task, const Trial& trial,
                                   std::span<const at::Tensor> outputs) {
  std::vector<PendingComparison> pending = CompareLater(task, trial, outputs);
  PendingComparison::GetAll(pending);
  LookAgain(task, trial, outputs, pending);
  std::vector<Comparison> comparisons;
  for (PendingComparison& one : pending) comparisons.push_back(one.Get());
  return comparisons;
}

}  // namespace tritogen
