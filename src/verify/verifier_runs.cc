#include "verify/verifier_runs.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "cuda/driver.h"
#include "device/device_errors.h"
#include "device/same_bits.h"
#include "verify/verifier_evidence.h"
#include "verify/verifier_second_look.h"
#include "verify/verifier_trial_loan.h"

namespace tritogen {
namespace {

// Inputs that a call has to leave alone: as they are now, and as they were.
struct Untouched {
  std::vector<size_t> leaves;
  TensorList now, before;
};

Untouched UntouchedOf(const Task::Impl& task, const Trial& trial, const TensorList& inputs) {
  Untouched untouched;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (task.mutates_input[i]) continue;
    untouched.leaves.push_back(i);
    untouched.now.push_back(inputs[i]);
    untouched.before.push_back(trial.inputs[i]);
  }
  return untouched;
}

double UsedOf(const Comparison& comparison) {
  if (comparison.budget > 0) return comparison.error / comparison.budget;
  return comparison.error > 0 ? HUGE_VAL : 0;
}

}  // namespace

std::optional<Objection> TrialRuns::OutOfTime() const {
  if (deadline_.left() > 0) return std::nullopt;
  return Objection{Outcome::kTimeout, fmt::format("the checks did not end within {} s", budget_seconds_), ""};
}

// A call on copies of the trial's inputs, waited for.
std::optional<Objection> TrialRuns::Call(Replayer& replayer, const Trial& trial, TensorList* inputs,
                                         TensorList* outputs) {
  *inputs = CloneAll(trial.inputs);
  auto failure = replayer.Run(*inputs, trial.run_seed, outputs);
  if (!failure) failure = replayer.Await();
  if (!failure) return std::nullopt;
  Objection objection = ObjectionOf(*failure);
  objection.evidence["trial"] = trial.name();
  return objection;
}

std::optional<Objection> TrialRuns::Run(Replayer& replayer, const Trial& trial, bool notes_changes) {
  if (auto objection = OutOfTime()) return objection;
  TrialLoan loan(trial);
  TensorList inputs, outputs;
  if (auto objection = Call(replayer, loan.trial(), &inputs, &outputs)) return objection;
  if (notes_changes) NoteChanges(replayer, trial);
  if (auto objection = CheckInputs(loan.trial(), inputs)) return objection;
  inputs.clear();  // large tasks need the memory for what is expected
  auto objection = CheckOutputs(loan.Expected(), outputs);
  if (objection) {
    failed_outputs_ = std::move(outputs);
    failed_trial_ = &trial;
  }
  return objection;
}

std::optional<Objection> TrialRuns::RunAll(Replayer& replayer, std::span<const Trial* const> trials,
                                           bool tried) {
  if (trials.empty()) return std::nullopt;
  if (!tried || !replayer.queues()) {
    if (auto objection = Run(replayer, *trials.front())) return objection;
    trials = trials.subspan(1);
  }
  // What a call leaves in memory that outlives it is looked at behind each one.
  const bool together =
      replayer.queues() && !replayer.WritesState() && !trials.empty() && trials.front()->remaker == nullptr;
  bool by_little = false;
  if (together && AllRight(replayer, trials, &by_little)) return std::nullopt;
  for (const Trial* trial : trials) {
    if (auto objection = Run(replayer, *trial)) return objection;
  }
  if (!together || by_little) return std::nullopt;
  return Objection{Outcome::kNondeterministic,
                   "calls that follow each other at once go wrong, one by one they do not", ""};
}

// One wait for all. False too where that cannot be found out this way: `by_little`, where it takes a second
// look. Throws where it is no fault of the program's: memory that others hold must not be held against it.
bool TrialRuns::AllRight(Replayer& replayer, std::span<const Trial* const> trials, bool* by_little) try {
  std::vector<PendingComparison> comparisons;
  std::vector<at::Tensor> differences;
  for (const Trial* trial : trials) {
    const TensorList inputs = CloneAll(trial->inputs);
    TensorList outputs;
    if (auto failure = replayer.Run(inputs, trial->run_seed, &outputs)) {
      if (failure->kind == ReplayFailure::Kind::kInfraError) throw std::runtime_error(failure->message);
      return false;
    }
    const Untouched untouched = UntouchedOf(task_, *trial, inputs);
    for (size_t i = 0; i < untouched.now.size(); ++i)
      differences.push_back(CountDifferent(untouched.now[i], untouched.before[i]));
    for (PendingComparison& comparison : CompareLater(task_, *trial, outputs))
      comparisons.push_back(std::move(comparison));
  }
  if (replayer.Await()) return false;
  if (!differences.empty() && at::cat(differences).any().item<bool>()) return false;
  PendingComparison::GetAll(comparisons);
  std::span<PendingComparison> rest(comparisons);
  bool all_right = true;
  *by_little = true;
  for (const Trial* trial : trials) {
    for (size_t i = 0; i < trial->outputs.size(); ++i) {
      const Comparison& comparison = rest[i].Get();
      all_right &= comparison.ok;
      *by_little &= comparison.ok || DeservesSecondLook(task_, *trial, i, comparison);
    }
    rest = rest.subspan(trial->outputs.size());
  }
  if (!all_right) return false;
  rest = comparisons;
  for (const Trial* trial : trials) {
    Find(*trial, rest.first(trial->outputs.size()));
    rest = rest.subspan(trial->outputs.size());
  }
  return true;
} catch (const c10::Error& error) {  // a launch has killed the context: the next call says so
  if (SaysOutOfMemory(error)) throw;
  return false;
} catch (const cuda::Error& error) {
  if (SaysOutOfMemory(error)) throw;
  return false;
}

std::optional<Objection> TrialRuns::RunFresh(Replayer& replayer, FreshTrials* fresh,
                                             Distribution distribution, uint64_t seed, double strength,
                                             bool* ran) {
  std::string reason;
  std::optional<Trial> trial = fresh->Inputs(distribution, seed, strength, &reason);
  if (!trial)
    return Objection{Outcome::kInfraError, "the reference's inputs cannot be made anew: " + reason, ""};
  TensorList inputs, outputs;
  if (auto objection = Call(replayer, *trial, &inputs, &outputs)) return objection;
  auto changed = CheckInputs(*trial, inputs);
  inputs.clear();  // as in Run
  *ran = fresh->Expect(&*trial, &reason) && !BreaksDown(*trial);
  if (!*ran) return std::nullopt;
  return changed ? changed : CheckOutputs(*trial, outputs);
}

void TrialRuns::NoteChanges(const Replayer& replayer, const Trial& trial) {
  const std::vector<TensorId> changed = replayer.Changed();
  if (changed_.empty()) first_to_change_ = &trial;
  changed_.insert(changed.begin(), changed.end());
}

std::optional<Objection> TrialRuns::CheckInputs(const Trial& trial, const TensorList& inputs) const {
  const Untouched untouched = UntouchedOf(task_, trial, inputs);
  const std::optional<size_t> changed = FirstDifferent(untouched.now, untouched.before);
  if (!changed) return std::nullopt;
  const size_t i = untouched.leaves[*changed];
  return Objection{Outcome::kRejected,
                   fmt::format("input {} is changed by the call, the reference leaves it", i),
                   "input_mutated",
                   {{"input", i}, {"trial", trial.name()}}};
}

std::optional<Objection> TrialRuns::CheckCalls(std::span<const Trial* const> calls, TensorList outputs,
                                               size_t* call) {
  if (calls.front()->remaker != nullptr) return CheckCallsOneByOne(calls, std::move(outputs), call);
  std::vector<PendingComparison> comparisons;
  for (const Trial* trial : calls) {
    const auto of_call = std::span(outputs).subspan(comparisons.size(), trial->outputs.size());
    for (PendingComparison& comparison : CompareLater(task_, *trial, of_call))
      comparisons.push_back(std::move(comparison));
  }
  PendingComparison::GetAll(comparisons);
  std::span<PendingComparison> rest(comparisons);
  std::span<const at::Tensor> left = outputs;
  for (*call = 0; *call < calls.size(); ++*call) {
    const size_t count = calls[*call]->outputs.size();
    LookAgain(task_, *calls[*call], left.first(count), rest.first(count));
    if (auto objection = Find(*calls[*call], rest.first(count))) return objection;
    rest = rest.subspan(count);
    left = left.subspan(count);
  }
  return std::nullopt;
}

// Beside what is expected of one call there may be room for its outputs and no others: then those of later
// calls wait in the host's memory.
std::optional<Objection> TrialRuns::CheckCallsOneByOne(std::span<const Trial* const> calls,
                                                       TensorList outputs, size_t* call) {
  const size_t count = outputs.size() / calls.size();
  std::vector<at::Device> devices;  // of each output of a call
  for (const at::Tensor& output : std::span(outputs).first(count)) devices.push_back(output.device());
  if (!task_.HasRoomForTrial()) {
    for (at::Tensor& later : std::span(outputs).subspan(count)) later = later.cpu();
  }
  for (*call = 0; *call < calls.size(); ++*call) {
    TensorList here;
    for (size_t i = 0; i < count; ++i) {
      at::Tensor& output = outputs[*call * count + i];
      here.push_back(output.to(devices[i]));
      output.reset();
    }
    TrialLoan loan(*calls[*call]);
    if (auto objection = CheckOutputs(loan.Expected(), here)) return objection;
  }
  return std::nullopt;
}

std::optional<Objection> TrialRuns::CheckOutputs(const Trial& trial, std::span<const at::Tensor> outputs) {
  std::vector<PendingComparison> comparisons = CompareLater(task_, trial, outputs);
  PendingComparison::GetAll(comparisons);
  LookAgain(task_, trial, outputs, comparisons);
  return Find(trial, comparisons);
}

// The first output that is wrong.
std::optional<Objection> TrialRuns::Find(const Trial& trial, std::span<PendingComparison> comparisons) {
  std::optional<Objection> objection;
  for (size_t i = 0; i < comparisons.size(); ++i) {
    const Comparison& comparison = comparisons[i].Get();
    Record(static_cast<int>(i), trial, comparison);
    if (!comparison.ok && !objection) objection = WrongValues(task_, plan_, i, trial, comparison);
  }
  return objection;
}

void TrialRuns::Record(int output, const Trial& trial, const Comparison& comparison) {
  auto found =
      std::find_if(errors.begin(), errors.end(), [&](const OutputError& e) { return e.output == output; });
  const double allclose = trial.distribution == Distribution::kGenerated ? comparison.allclose : std::nan("");
  OutputError error{output, comparison.error, comparison.eager, comparison.budget, allclose, trial.name()};
  if (found != errors.end()) error.used = std::move(found->used);
  double& used = error.used[trial.name()];
  used = std::max(used, UsedOf(comparison));
  if (found == errors.end()) {
    errors.push_back(std::move(error));
    return;
  }
  const double smallest = std::fmin(found->allclose, allclose);  // of numbers, when one is none
  // Beside answers that are next to nothing errors are large numbers that say little.
  const bool tells = !MayCancel(trial.distribution);
  const bool is_more = comparison.error * found->budget > found->candidate * comparison.budget;
  if (!comparison.ok || (tells && is_more)) {
    *found = std::move(error);
  } else {
    found->used = std::move(error.used);
  }
  found->allclose = smallest;
}

}  // namespace tritogen
