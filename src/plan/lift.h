// From a reference Plan to the canonical Program: what one call computes, as a DAG without writes.
//
//   inputs, state         nodes of their own; state by its name in the state dict. A device move, `detach`
//   and
//                         `alias` are the value itself, and so are `clone` and a `_to_copy` that keeps the
//                         dtype, unless an output is a copy of an input, of state or of another output: then
//                         it is a `clone`. Other views and copies that set-up made of state become
//                         operations.
//   other set-up values   what no name is known for is made by the call itself (lift_setup.h); what it cannot
//   make is a
//                         kBuffer ("setup_12") or, for values that stood in the file, kConstant
//   ("constant_12"); the number is
//                         the tensor's id in the Plan.
//   writes in place       become functional: `relu_` → `relu`, `copy_` → the value copied, and a write
//   through a view becomes
//                         `slice_scatter`, `select_scatter` or the inverse view, so that the base sees it.
//                         What has no functional form keeps its name with the underscore: a reader that does
//                         not know it must refuse it.
//   random operations     keep their names and their order.
//   launches              "launch" with the tensors as arguments; each tensor's new value is a result.
//   dead operations       are dropped; the rest is in canonical form (program/canonical.h). Devices, layouts
//   and memory formats are not part of a Program.
#pragma once

#include "plan/plan.h"
#include "program/program.h"

namespace tritogen {

// REQUIRES: a Plan that ParsePlan accepted. An output that is no tensor is NodeRef{-1}.
// Throws FormatError when views of views nest too deeply.
Program Lift(const Plan& reference);

}  // namespace tritogen
