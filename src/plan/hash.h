// The name of a Plan by content: equal hashes mean equal programs, whatever file they came from.
#pragma once

#include <string>

#include "plan/plan.h"

namespace tritogen {

// SHA-256, 64 hexadecimal digits, over the canonical form of docs/formats/plan.md.
std::string PlanHash(const Plan& plan);

}  // namespace tritogen
