// Below which numbers hardware makes zeros.
#pragma once

#include <ATen/core/Tensor.h>

#include <limits>

namespace tritogen {

// The smallest normal number of fp64, fp32 and bfloat16: what lies below is zero for some. 0 for other types,
// whose programs are full of such numbers.
inline double LeastNormal(at::ScalarType dtype) {
  if (dtype == at::kDouble) return std::numeric_limits<double>::min();
  return dtype == at::kFloat || dtype == at::kBFloat16 ? std::numeric_limits<float>::min() : 0;
}

}  // namespace tritogen
