// What a call gives: shapes, dtypes, FLOPs and bytes, from the rows of the catalogue.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "program/catalogue.h"
#include "program/program.h"

namespace tritogen {

// The result of a node that an argument names.
using ShapeLookup = std::function<const Shape&(NodeRef)>;
ShapeLookup LookupIn(const Program& program);

// Shapes of the results that the row's rule states. A rule may state fewer than the operator has: what
// follows are workspaces whose shape depends on the backend.
struct Inferred {
  std::vector<Shape> results;
  std::string problem;  // why PyTorch would refuse the call; empty when it is fine
};
Inferred InferResults(const OpCall& call, const ShapeLookup& shape_of);

// What keeps a program from being canonical: operations that the catalogue does not know or whose results are
// not those of its rules, one sentence each. Empty for a canonical program.
std::vector<std::string> ProblemsOf(const Program& program);

// The dtype that PyTorch computes with for two of them (torch.promote_types).
Dtype PromotedDtype(Dtype a, Dtype b);

// Floating-point operations and bytes of operands and results, each moved once; views and creators move none.
struct Cost {
  double flops = 0, bytes = 0;
};
Cost CostOf(const OpCall& call, const ShapeLookup& shape_of, const std::vector<Shape>& results);
// The sum over all operations that the catalogue knows.
Cost CostOf(const Program& program);

}  // namespace tritogen
