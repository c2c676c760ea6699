#include "verify/verifier_wrong.h"

#include <ATen/ATen.h>

#include "device/same_bits.h"
#include "verify/verifier_evidence.h"
#include "verify/verifier_order.h"
#include "verify/verifier_trial_loan.h"

namespace tritogen {
namespace {

struct Again {
  bool ran = false;
  std::optional<ReplayFailure> failure;
  TensorList outputs;
};

Again RunAgain(const Task::Impl& task, const Plan& candidate, const Bindings& bindings, const Trial& trial,
               TrialLoan* loan, const ReplayOptions& options) {
  Again again;
  Replayer replayer(candidate, options);
  if (SetUp(task, candidate, bindings, &replayer)) return again;
  again.failure = replayer.Run(CloneAll(loan->trial().inputs), trial.run_seed, &again.outputs);
  again.ran = true;
  return again;
}

// Some output is off from what it was by more than it may be wrong.
std::optional<size_t> FindUnsteady(const Task::Impl& task, const TensorList& once, const TensorList& again,
                                   TrialLoan* loan) {
  for (size_t i = 0; i < again.size(); ++i) {
    if (!FirstDifferent({again[i]}, {once[i]})) continue;
    const OutputCheck& check = loan->Expected().outputs[i];
    const Comparison comparison = check.Compare(task.index_sources[i], again[i]);
    const at::Tensor apart = again[i].to(at::kDouble) - once[i].to(at::kDouble);
    const double largest = apart.abs().max().item<double>();
    if (!(largest <= comparison.budget * check.expected.scale())) return i;  // NaN is apart from everything
  }
  return std::nullopt;
}

}  // namespace

Objection WhyWrong(const Task::Impl& task, const Plan& candidate, const Bindings& bindings,
                   const WrongAnswer& answer, const ReplayOptions& options) {
  TrialLoan loan(*answer.trial);
  if (!options.on_gpu) {
    ReplayOptions blaming = options;
    blaming.blame_lanes = true;
    const Again blamed = RunAgain(task, candidate, bindings, *answer.trial, &loan, blaming);
    if (blamed.failure && blamed.failure->kind == ReplayFailure::Kind::kMemoryError)
      return ObjectionOf(*blamed.failure);
  }
  const Again other = RunAgain(task, candidate, bindings, *answer.trial, &loan,
                               answer.unwatched ? options : UnwatchedInOrder(options));
  if (!other.ran || other.failure) return *answer.objection;
  const auto unsteady = FindUnsteady(task, *answer.outputs, other.outputs, &loan);
  return unsteady ? Unsteady(*unsteady, *answer.trial, *answer.objection) : *answer.objection;
}

}  // namespace tritogen
