// Where set-up gets the values of a module's state, so that other values can be put there and everything
// derived follows.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

struct BindPoint {
  int step = -1;  // after this step of set-up; −1: before the first one (the module was given the tensor)
  TensorId through = -1;  // a tensor that has a value then and shares the memory
  TensorId view = -1;     // the tensor whose sizes, strides and offset say which part of that memory
};

// For each state entry: the last write to the memory in which its value first stood. The way back from the
// state leads through moves and copies that lose nothing (to the device, detach, a copy_ from a whole
// tensor); a conversion that would lose bits ends it.
std::unordered_map<std::string, BindPoint> FindBindPoints(const Plan& plan);

}  // namespace tritogen
