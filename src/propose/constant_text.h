// Constants of a program as Python writes them.
#pragma once

#include <map>
#include <string>

#include "plan/plan.h"
#include "program/program.h"

namespace tritogen {

// The expression that makes each constant whose values stood in the recorded file, by node (they are named
// constant_<tensor id>): torch.tensor(…) of literals, or the bytes where there are too many of those. Missing
// are constants of more than 1 MiB.
std::map<NodeId, std::string> ConstantTexts(const Plan& plan, const Program& program);

}  // namespace tritogen
