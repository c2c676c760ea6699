// What set-up makes under no name: plain attributes of a module, tables that its first call keeps.
#pragma once

#include <unordered_set>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

// The steps of set-up that make these tensors, in order, so that a call can make them itself. Empty where
// that would be another program: something is drawn, launched or made of the first call's inputs; where it is
// more than a call should do again; and of complex numbers, which are taken apart in a call's own steps only.
// What has a name in the module's state is not made but there.
std::vector<const Step*> MakersInSetup(const Plan& plan, const std::unordered_set<TensorId>& wanted);

}  // namespace tritogen
