// Views in a Program: which operation makes one, and how a write through it reaches the tensor it views. And
// what is left out of a Program in the end.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "program/program.h"

namespace tritogen {

// The result is the argument's value under another name, or a copy of it.
bool IsIdentity(const Plan& plan, const AtenStep& step);

// The first argument, when the step's single result is that very tensor; else kNoTensor.
TensorId WrittenTensor(const AtenStep& step);

// The tensor that the step's single result is a view of; kNoTensor when it makes new memory or several views.
TensorId ViewedTensor(const Plan& plan, const AtenStep& step);

// Of a step that makes several views (chunk, split, unbind), a step for each of them; nothing for others.
std::vector<AtenStep> ViewsOneByOne(const Plan& plan, const AtenStep& step);

// The operation that gives `base` with `value` in the place of the view; nothing when there is no simple one.
// `args` are the view's own arguments after the first.
std::optional<Node> InverseOfView(const AtenStep& view, const TensorMeta& base, NodeRef base_value,
                                  NodeRef value);

// Drops `clone`s. A copy is the value itself, except where it is all that tells an output's memory from that
// of an input, of state or of another output, or the order of an output's memory from that of a view.
void DropCopies(Program* program);

// By node: whether an output is made of it.
std::vector<bool> NeededNodes(const Program& program);

// Keeps inputs and what the outputs need, and puts leaves in front of operations: inputs, parameters and
// buffers, constants.
void DropDead(Program* program);

}  // namespace tritogen
