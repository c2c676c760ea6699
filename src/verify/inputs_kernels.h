// Inputs of trials by kernels/inputs.py: what inputs.cc does by many tensor operations, in one or two
// launches that nobody waits for. The way for a GPU; other random numbers than those of inputs.cc.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "device/builtin_launch.h"
#include "device/random.h"
#include "verify/inputs.h"

namespace tritogen {

// Whether the kernels can take this floating tensor: dense, of a dtype that they know, at most four
// dimensions with more than one element.
bool KernelsTake(const at::Tensor& x);

// REQUIRES for all: KernelsTake(x). Results have x's layout. Tensors of `most` elements and more are changed
// in pieces, each as if there was no other.
at::Tensor TransformByKernels(Distribution distribution, const at::Tensor& x, double strength,
                              const Random& random, int64_t most = kMostFlat);
at::Tensor RedrawByKernels(const at::Tensor& x, const Random& random);

enum class Widening {
  kPlain,
  kMoved,
  kTf32
};  // kMoved: by up to `unit` of each element; kTf32: float32 only
// To float64.
at::Tensor WidenByKernels(const at::Tensor& x, Widening kind, int64_t seed, double unit);

}  // namespace tritogen
