// Calls whose partial results may leave the range of their dtype, or stay within it, by the order that they
// are made in, where the result itself would fit: products of many numbers, and sums of large squares behind
// variances. PyTorch's CPU kernels keep some of these in fp64, its GPU kernels and honest Triton kernels do
// not: such a call says nothing about who makes it in another order. So it is with sums of running products
// whose terms cancel but for what is no more than their rounding: that differs by the order of the products.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "verify/replay.h"

namespace tritogen {

// One for each such call of forward, at what it multiplies, squares or sums.
std::vector<Probe> RangeProbes(const Plan& plan);

// Whether some order leaves the range and another does not, or nothing is left of a sum in some, given what
// the probe has seen in fp64: a bool that is not waited for. Nothing: certainly not. REQUIRES: the probe is
// of RangeProbes.
std::optional<at::Tensor> OrderLeavesRange(const Plan& plan, const Probe& probe);

}  // namespace tritogen
