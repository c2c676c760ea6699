// How large inputs must be for exponentials to overflow. `large` inputs do that to a softmax of inputs;
// behind a linear layer or two numbers are small again, and no trial tells a program that subtracts no
// maximum.
#pragma once

#include <optional>

#include "verify/verifier_trial_maker.h"

namespace tritogen {

// An exponential is a part of what the call computes.
bool HasExponential(const AtenStep& step);

// So many times as large as in a `large` trial, for the calls that have exponentials in them and are given
// too small numbers there. Nothing where no more is needed, or would help. `seed`: of that trial. `bindings`:
// the reference's weights.
std::optional<double> TimesUntilOverflow(const Task::Impl& task, const Bindings& bindings, uint64_t seed,
                                         const Deadline& deadline, TrialMaker* maker);

}  // namespace tritogen
