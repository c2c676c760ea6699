// What an output is where its reference jumps or is flat (edges.h) and the jumping or flat call is given a
// little more, or less.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "verify/verifier_task.h"

namespace tritogen {

struct Range {
  // In fp64, or as declared for integers: with a little more, and with a little less. Undefined: there is no
  // edge.
  at::Tensor up, down;
  // In fp64: with a little more in some places and less in others, at random, of what jumps within sums and
  // products are given (JumpsWithin). Where elements are picked these are in the range.
  std::vector<at::Tensor> turned;
};

// By output. How little that is, the noise of what the call is given says: for flat parts its error budget,
// for jumps twice the noise, and a few roundings. Before rounding, inputs in half precision are not moved:
// many places would come to lie on another step. Nothing where the eager program has no error at all there,
// since an honest program then has none, either. Nothing at all when the reference does not run.
std::optional<std::vector<Range>> RangesAtEdges(const Task::Impl& task, const Bindings& bindings,
                                                const Trial& trial, const Deadline& deadline);

}  // namespace tritogen
