// The plan in words that stands in front of an answer.
#pragma once

#include <string>
#include <vector>

#include "teach/kernel.h"

namespace tritogen::teach {

struct Plan {
  // An operation of the program: the names of its results, and which steps compute it; none for a view.
  struct Operation {
    std::string results;
    std::vector<std::string> steps;
  };
  // What forward does, in order. `flow` is "x0, x1 -> sum [32, 64]".
  struct Step {
    std::string name, flow, access;  // access: empty for a kernel that was launched before, and for a call
  };
  std::vector<Operation> operations;
  std::vector<Step> steps;
  std::string returned;
};

// AutoTriton's four steps (access pattern; launch; load, compute, store; wrapper), and in front of them, of a
// program of several operations, which kernels each of them is computed by. `wording`: 0 to 2. `is_module`:
// there are parameters.
std::string PlanText(const Plan& plan, const std::vector<KernelCode>& kernels, int wording, bool is_module);

}  // namespace tritogen::teach
