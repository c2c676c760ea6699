// Whether tensors hold the same bits: NaN equals NaN, zero is not minus zero.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace tritogen {

// Index of the first of `a` that differs from its counterpart in `b`, dtype and shape included. On a GPU all
// are compared before anything is waited for.
std::optional<size_t> FirstDifferent(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b);

// By a kernel, on whatever device: how many 32-bit words differ (bytes, where sizes are odd), as one int32
// there. REQUIRES: the same dtype and shape.
at::Tensor CountDifferent(const at::Tensor& a, const at::Tensor& b);

}  // namespace tritogen
