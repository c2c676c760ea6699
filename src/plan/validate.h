// The rules of a Plan that one field alone cannot show: ids in range, tensors inside their storages, every
// tensor defined before it is used, launches that fit the device.
#pragma once

#include "plan/plan.h"

namespace tritogen {

// Throws FormatError that names the place and the rule.
void Validate(const Plan& plan);

}  // namespace tritogen
