// Products of training by ATen (cuBLAS on a GPU), forward and backward, into memory that is there.
#pragma once

#include <ATen/core/Tensor.h>

namespace tritogen::train {

// out [tokens, out] = x [tokens, in] · weightᵀ + bias. `bias` may be undefined.
void Linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& out);

// From the gradient of `out`, in the weights' dtype: what x and weight get. The latter is float32: written,
// or, with `add`, added to.
void LinearToInput(const at::Tensor& d_out, const at::Tensor& weight, const at::Tensor& d_x);
void LinearToWeights(const at::Tensor& d_out, const at::Tensor& x, const at::Tensor& d_weight, bool add);

}  // namespace tritogen::train
