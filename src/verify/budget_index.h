// Outputs that are indices into something that was computed (argmax, topk, sort, cummax): where two
// candidates for the place tie within rounding, either index is right.
#pragma once

#include <optional>

#include "plan/plan.h"
#include "verify/budget.h"

namespace tritogen {

// The tensor whose elements an index output points at.
struct IndexSource {
  TensorId values = kNoTensor;
  std::optional<int64_t> dim;  // nothing: into the flattened tensor
  bool so_far = false;         // of the elements up to each place (cummax): there may be the same often
  bool stable = false;         // equal values come in the order of their places
  bool first = false;          // of equal values it is the first one (argmax, max over a dimension)
  bool given = false;          // an input, of which every program has the same numbers
};

// What the tensor `output` of the reference indexes; nothing when it does not come straight from such an
// operator.
std::optional<IndexSource> IndexSourceOf(const Plan& plan, TensorId output);

// Judges indices by the values they point at: each must be within the budget of the value that the expected
// index points at, and no index may come twice in one slice, or, of elements so far, speak of a later one.
// Where the order is stable, equal values must come in it; where the first one is asked for, none behind the
// expected one that is equal will do.
Comparison CompareIndices(const IndexSource& source, const Expectation& values, const Expectation& indices,
                          const at::Tensor& got);

}  // namespace tritogen
