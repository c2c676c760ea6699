// Prints a Program as PyTorch.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "program/program.h"

namespace tritogen {

// The canonical program: a flat function `program(inputs…, parameters…, buffers…, constants…)` in plain
// PyTorch, one operation a line, dtype and shape of each result in a comment. Running it gives what the
// recorded program gives; an output that is no tensor (NodeRef{-1}) is None.
std::string PrintProgram(const Program& program);

// What PrintProgram calls each result of each node.
std::vector<std::vector<std::string>> PrintedNames(const Program& program);

// One operation as a PyTorch expression: "torch.relu(x)", "torch.ops.aten.convolution.default(x, w, …)"
// (spelling.h). `name` says what to call an operand; `device` is the expression that new tensors are made on.
// REQUIRES: node.kind is kOp.
std::string CallText(const Node& node, const std::function<std::string(NodeRef)>& name,
                     const std::string& device);

// Whether the operation returns a list, which one result must be unpacked from too.
bool ReturnsList(const Node& node);

// The returned structure with its leaves filled in, in order: "(*, *)" and {a, b} give "(a, b)". Empty when
// the structure does not have exactly so many leaves.
std::string FillStructure(const std::string& structure, const std::vector<std::string>& leaves);

// "float32[128, 256]"
std::string ShapeText(const Shape& shape);

}  // namespace tritogen
