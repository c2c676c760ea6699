// Constants of a program as Python writes them.
#pragma once

#include <map>
#include <string>

#include "plan/plan.h"
#include "program/program.h"

namespace tritogen {

// torch.tensor(…) for each constant whose values stood in the recorded file, by node (they are named
// constant_<tensor id>). Those that are too long to write down, or of a dtype without literals, are missing.
std::map<NodeId, std::string> ConstantTexts(const Plan& plan, const Program& program);

}  // namespace tritogen
