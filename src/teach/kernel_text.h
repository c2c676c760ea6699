// Pieces of text that all kernels share.
#pragma once

#include <string>
#include <vector>

#include "teach/tile_code.h"

namespace tritogen::teach {

// The decorated function: pointers, then constants, then the body.
std::string KernelText(const std::string& name, TileCode& code, const std::vector<std::string>& constants,
                       const std::string& body);

// What a reduction starts from; elements outside the row count as this.
std::string Neutral(ReduceOp op, Dtype dtype);

// "softmax, mul and add": the operators of the program that a group computes.
std::string OperatorList(const Graph& graph, const Group& group);
// The same, once each, in order.
std::vector<std::string> Operators(const Graph& graph, const Group& group);

}  // namespace tritogen::teach
