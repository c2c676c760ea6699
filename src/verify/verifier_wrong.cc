#include "verify/verifier_wrong.h"

#include <ATen/ATen.h>

#include "device/same_bits.h"
#include "verify/verifier_evidence.h"
#include "verify/verifier_order.h"
#include "verify/verifier_trial_loan.h"

namespace tritogen {
namespace {

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
                   const WrongAnswer& answer, ReplayOptions options) {
  if (!answer.unwatched) options = UnwatchedInOrder(options);
  options.blame_lanes = true;
  Replayer replayer(candidate, options);
  if (SetUp(task, candidate, bindings, &replayer)) return *answer.objection;
  TensorList again;
  TrialLoan loan(*answer.trial);
  if (const auto failure = replayer.Run(CloneAll(loan.trial().inputs), answer.trial->run_seed, &again)) {
    // Programs that race with each other were found before there was an answer.
    const bool lanes_race = failure->fault && failure->fault->kind == tile::FaultKind::kReadWriteRace;
    return lanes_race ? ObjectionOf(*failure) : *answer.objection;
  }
  const auto unsteady = FindUnsteady(task, *answer.outputs, again, &loan);
  return unsteady ? Unsteady(*unsteady, *answer.trial, *answer.objection) : *answer.objection;
}

}  // namespace tritogen
