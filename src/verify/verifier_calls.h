// A Plan that makes several calls in a row on the same state, to catch what one call leaves behind for the
// next.
#pragma once

#include "plan/plan.h"

namespace tritogen {

// Inputs and outputs: those of the first call, then those of the second, and so on; `count` ≥ 1. What set-up
// made is shared by all; everything that a call makes, or takes as input, exists once for each.
Plan CallsInARow(const Plan& plan, size_t count);

}  // namespace tritogen
