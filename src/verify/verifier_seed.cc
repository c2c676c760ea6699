#include "verify/verifier_seed.h"

#include <algorithm>
#include <set>

#include "device/random.h"
#include "verify/replay_bind.h"
#include "verify/verifier_evidence.h"
#include "verify/verifier_second_look.h"
#include "verify/verifier_trial_loan.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

// The line of a step of set-up that draws numbers which can reach an output, and whose result is not at once
// replaced by what a bound name stands for.
std::optional<int> LineOfDraw(const Plan& candidate, const Flow& flow, const Bindings& bindings) {
  std::set<int> replaced;
  for (const auto& [name, point] : FindBindPoints(candidate)) {
    if (bindings.contains(name)) replaced.insert(point.step);
  }
  for (size_t i = 0; i < candidate.setup.size(); ++i) {
    const auto* aten = std::get_if<AtenStep>(&candidate.setup[i]);
    const bool draws = aten != nullptr && flow.setup[i] && DrawsRandom(*aten);
    if (draws && !replaced.contains(static_cast<int>(i))) return aten->line;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Objection> CheckOwnWeights(const Task::Impl& task, const Setting& setting,
                                         const Bindings& bindings, const Trial& trial, const Plan& candidate,
                                         const Flow& flow, const ReplayOptions& options) {
  const auto line = LineOfDraw(candidate, flow, bindings);
  if (!line) return std::nullopt;
  TrialLoan loan(trial);
  // Nothing where the program does not run.
  auto right = [&](const Plan& plan, const Bindings& state, const ReplayOptions& how,
                   std::optional<ReplayFailure>* failure) {
    Replayer replayer(plan, how);
    TensorList outputs;
    *failure = SetUp(task, plan, state, &replayer, SubSeed(task.weight_seed, 1));
    if (!*failure) *failure = replayer.Run(CloneAll(loan.trial().inputs), trial.run_seed, &outputs);
    if (!*failure) *failure = replayer.Await();
    if (*failure) return false;
    const std::vector<Comparison> comparisons = CompareAll(task, loan.Expected(), outputs);
    return std::all_of(comparisons.begin(), comparisons.end(), [](const Comparison& c) { return c.ok; });
  };
  std::optional<ReplayFailure> failure;
  if (right(candidate, bindings, options, &failure)) return std::nullopt;
  if (failure && failure->kind == ReplayFailure::Kind::kTimeout) return ObjectionOf(*failure);
  if (failure) return std::nullopt;  // it ran in every trial
  // The reference's own answer may hang on numbers that no name stands for.
  if (!right(task.plan, setting.bindings, options, &failure)) return std::nullopt;
  return Objection{
      Outcome::kRejected,
      "the answer hangs on numbers that the constructor draws beside the state: with the same state and "
      "another seed it is another, the reference's is not",
      "own_weights",
      {{"line", *line}}};
}

}  // namespace tritogen
