// Plans made of a Plan: several calls in a row on the same state, to catch what one call leaves behind for
// the next; a call whose changed inputs are looked at.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace tritogen {

// Inputs and outputs: those of the first call, then those of the second, and so on; `count` ≥ 1. What set-up
// made is shared by all; everything that a call makes, or takes as input, exists once for each. Outputs that
// lie in what is shared are copies, made behind their own call.
Plan CallsInARow(const Plan& plan, size_t count);

// The inputs that are `written`, by tensor leaf, are outputs as well, behind the others: what the caller
// finds in them after the call is a part of the answer.
Plan WithWrittenInputs(const Plan& plan, const std::vector<bool>& written);

}  // namespace tritogen
