// The order of keys in returned dicts, which means nothing: a candidate's is made the reference's.
#pragma once

#include "plan/plan.h"

namespace tritogen {

// Puts the keys of dicts in `candidate`'s outputs, with what they hold, in the order that they have in
// `reference`'s; a dict with other keys stays as it is. Both Plans are valid.
void TakeKeyOrder(const Plan& reference, Plan* candidate);

}  // namespace tritogen
