// State that the original updates in a call and that a candidate's kernels leave as it is: a number of
// batches, a moving average that no output of the call depends on.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "emit/emit.h"
#include "plan/plan.h"

namespace tritogen {

// `verified` with the original's own calls behind its steps that make these updates; as it is where there are
// none. `unchanged`, `other`: names of updated state that the candidate was seen to leave as it was, or with
// other values. Fails where updates cannot be told from the rest: then a module would keep stale state.
std::variant<Plan, EmitFailure> WithUpdates(const Plan& reference, Plan verified,
                                            const std::vector<std::string>& unchanged,
                                            const std::vector<std::string>& other);

// Arguments of _apart, where the original writes to arguments or state: every tensor that a call is given,
// and which of them it writes to. `plan`: what is printed. Empty: it writes to none.
std::string WrittenText(const Plan& plan, const Plan& reference);

}  // namespace tritogen
