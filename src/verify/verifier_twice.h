// A Plan that makes two calls in a row on the same state, to catch what one call leaves behind for the next.
#pragma once

#include "plan/plan.h"

namespace tritogen {

// Inputs and outputs: those of the first call, then those of the second. What set-up made is shared by both;
// everything that a call makes, or takes as input, exists twice.
Plan TwoCalls(const Plan& plan);

}  // namespace tritogen
