// How values flow through a Plan, by storage: which steps and which inputs and parameters can reach the
// outputs. Everything here errs on the side of "reaches": a launch is taken to read and write every buffer it
// is given.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace tritogen {

struct Flow {
  std::vector<bool> setup, run;  // by step: its result can reach an output
  std::vector<bool> storage;     // by storage: its contents can reach an output

  bool Reaches(const Plan& plan, TensorId id) const { return storage[plan.tensors[id].storage]; }
};

Flow FlowOf(const Plan& plan);

}  // namespace tritogen
