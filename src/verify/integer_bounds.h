// One number on its way through forward, in place of an element of an integer input.
#pragma once

#include <cstdint>

#include "plan/plan.h"

namespace tritogen {

// Whether no element is read or written beyond an end where an element of `leaf`, an integer input, is
// `value`, as far as is known: behind `where(t >= 0, t, 0)` -1 is 0. False where it is not known.
bool StaysWithinBounds(const Plan& plan, TensorId leaf, int64_t value);

}  // namespace tritogen
