// How a candidate's state relates to the reference's.
#pragma once

#include "verify/verifier_task.h"

namespace tritogen {

// Parameters match strictly, one to one by name, shape and dtype; state that was made non-neutral must be
// there too.
bool MatchesByName(const Task::Impl& task, const Plan& candidate);

// The setting's values for the state that the candidate has.
Bindings BindingsFor(const Task::Impl& task, const Setting& setting, const Plan& candidate);

}  // namespace tritogen
