// Tensors as PyTorch expressions: state, and views.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"
#include "teach/view.h"

namespace tritogen::teach {

// "(4, 8)", "(4,)"
std::string TupleText(const std::vector<int64_t>& sizes);

// The view of a tensor of these sizes in row-major order, which `base` names: "x", "x.view((8, 4))",
// "x.permute(1, 0)", "x[1:2]"; as_strided where nothing shorter says it.
std::string TensorText(const std::string& base, const std::vector<int64_t>& sizes, const View& view);

// A parameter or buffer: "self.up.weight"; a path with a number in it ("net.0.weight") is no attribute
// expression.
std::string StateText(const Node& node);

}  // namespace tritogen::teach
