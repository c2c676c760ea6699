// Weights that a candidate draws for itself. State is bound by name to what the reference's set-up draws; a
// candidate that draws the same numbers from the same seed, in memory that no name stands for, need not look
// at its state.
#pragma once

#include <optional>

#include "verify/verifier_task.h"

namespace tritogen {

// One call with the same state and another seed of set-up, where the candidate's set-up draws anything that
// state does not replace. Rule "own_weights" when the answer is another one then, and the reference's is not.
std::optional<Objection> CheckOwnWeights(const Task::Impl& task, const Setting& setting,
                                         const Bindings& bindings, const Trial& trial, const Plan& candidate,
                                         const Flow& flow, const ReplayOptions& options);

}  // namespace tritogen
