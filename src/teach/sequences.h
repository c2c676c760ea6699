// Values that a loop makes one by one, as one tensor with the steps in front.
#pragma once

#include <optional>
#include <vector>

#include "teach/program_edit.h"

namespace tritogen::teach {

// One element of a tensor along a dimension.
struct Element {
  NodeRef of{-1, 0};
  int64_t dim = 0, index = 0;
};
std::optional<Element> ElementOf(const ProgramEdit& edit, NodeRef ref);

// x·w + bias.
bool IsPlainAddmm(const OpCall& addmm);

// Where all are elements of one tensor along a dimension, in order or from the last one on, or made from such
// by one operator step by step: the tensor (steps, …) of them, with what it takes added to the program.
// REQUIRES: all of one shape.
std::optional<NodeRef> SequenceOf(ProgramEdit& edit, const std::vector<NodeRef>& values);

// The same of any values, side by side where need be.
NodeRef StackOf(ProgramEdit& edit, const std::vector<NodeRef>& values);

// Tensors put together of elements that are a sequence take that one, in another order, instead. False where
// there are none.
bool TakeWholeSequences(ProgramEdit& edit);

}  // namespace tritogen::teach
