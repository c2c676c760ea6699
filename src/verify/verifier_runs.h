// Calls of a candidate on trials, each with its checks: inputs stay as they were, outputs are right.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "verify/replay.h"
#include "verify/rules.h"
#include "verify/verdict.h"
#include "verify/verifier_task.h"

namespace tritogen {

class TrialRuns {
 public:
  // All of them outlive this. Calls stop with kTimeout when `deadline`, of `budget_seconds`, is over.
  TrialRuns(const Task::Impl& task, const Plan& candidate, const Deadline& deadline, double budget_seconds)
      : task_(task), plan_(candidate), deadline_(deadline), budget_seconds_(budget_seconds) {}

  // The deadline is over.
  std::optional<Objection> OutOfTime() const;

  // One call. Unless it `notes_changes`, what it leaves in memory is nobody's concern: of another setting
  // than the task's own.
  std::optional<Objection> Run(Replayer& replayer, const Trial& trial, bool notes_changes = true);

  // One call each, in order, up to the first that fails. With a replayer that only queues, of a program that
  // keeps no state, the first one is waited for, since most wrong candidates fail there (unless `tried`: one
  // Run was right already), and then all others at once; where something is wrong with those, they run once
  // more, one by one, to see what.
  std::optional<Objection> RunAll(Replayer& replayer, std::span<const Trial* const> trials,
                                  bool tried = false);

  // A call on inputs that nobody has met; what is expected is made after the candidate has run. Nothing is
  // tried, and `ran` false, where the reference breaks down on them.
  std::optional<Objection> RunFresh(Replayer& replayer, FreshTrials* fresh, Distribution distribution,
                                    uint64_t seed, double strength, bool* ran);

  // Outputs of calls that were made one after the other, as leaves; one wait where trials are kept. `call`:
  // the first that is wrong.
  std::optional<Objection> CheckCalls(std::span<const Trial* const> calls, TensorList outputs, size_t* call);

  // The worst error of each output so far, and the smallest allclose share of inputs as the task makes them.
  std::vector<OutputError> errors;

  // What was wrong in the last Run that was: the outputs, and on which trial.
  const TensorList& failed_outputs() const { return failed_outputs_; }
  const Trial* failed_trial() const { return failed_trial_; }

  // Memory that outlives a call and that one left with other contents, and the first trial on which one did.
  const std::set<TensorId>& changed() const { return changed_; }
  const Trial& first_to_change() const { return *first_to_change_; }
  void ForgetChanges() { changed_.clear(); }

 private:
  static std::optional<Objection> Call(Replayer& replayer, const Trial& trial, TensorList* inputs,
                                       TensorList* outputs);
  // CheckCalls of trials that are not kept, of which there is room for one at a time.
  std::optional<Objection> CheckCallsOneByOne(std::span<const Trial* const> calls, TensorList outputs,
                                              size_t* call);
  std::optional<Objection> CheckOutputs(const Trial& trial, std::span<const at::Tensor> outputs);
  std::optional<Objection> Find(const Trial& trial, std::span<PendingComparison> comparisons);
  std::optional<Objection> CheckInputs(const Trial& trial, const TensorList& inputs) const;
  bool AllRight(Replayer& replayer, std::span<const Trial* const> trials, bool* by_little);
  void NoteChanges(const Replayer& replayer, const Trial& trial);
  void Record(int output, const Trial& trial, const Comparison& comparison);

  const Task::Impl& task_;
  const Plan& plan_;
  const Deadline& deadline_;
  const double budget_seconds_;
  TensorList failed_outputs_;
  const Trial* failed_trial_ = nullptr;
  std::set<TensorId> changed_;
  const Trial* first_to_change_ = nullptr;
};

}  // namespace tritogen
