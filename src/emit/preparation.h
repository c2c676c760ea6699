// What a printed module has to make before the steps of a call: tensors that are neither arguments nor state.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

// Storages that a step may change or create. A launch may write whatever it was given.
void VisitWrites(const Plan& plan, const Step& step, const std::function<void(StorageId)>& visit);

// The operator draws random numbers.
bool IsRandom(std::string_view op);

// The state entries and buffers that run or the set-up slice reads, so that a guard and a name exist for
// each.
std::vector<const StateEntry*> StateInOrder(const Plan& plan);

// Steps of the Plan that `run` needs to find done: the slice of set-up behind tensors that are neither inputs
// nor state (packed weights, constant tensors). Empty when run reads inputs and state only.
struct SetupSlice {
  std::vector<const Step*> steps;
  std::vector<TensorId> provided;  // what run reads of them
  std::string
      failure;  // not empty: needs something a module cannot rebuild (random values, the first call's inputs)
};
SetupSlice SliceSetup(const Plan& plan);

// The plan whose calls make anew, in front of the rest, what set-up makes from the state, which may change
// between calls without a trace (`parameter.data.mul_(2)`), and memory to work in, which two calls on two
// streams must not share. What stands in the file remains.
Plan PreparedByRun(Plan plan);

}  // namespace tritogen
