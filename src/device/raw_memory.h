// Memory of tensors, whatever it holds.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace tritogen {

// All bytes of a storage: one dimension, uint8.
at::Tensor BytesOf(const c10::Storage& storage);

// Memory as a tensor of any type, in elements of it, as set_ makes it, which asks the dispatcher twice: a
// candidate's trials have hundreds. Throws c10::Error for what does not lie inside.
at::Tensor ViewOf(const at::Tensor& memory, at::ScalarType type, int64_t offset, at::IntArrayRef sizes,
                  at::IntArrayRef strides);

}  // namespace tritogen
