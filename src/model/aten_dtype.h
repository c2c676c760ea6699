// Dtypes of weights as ATen's scalar types.
#pragma once

#include <c10/core/ScalarType.h>

#include "base/dtype.h"
#include "base/error.h"

namespace tritogen {

// REQUIRES: float32, bfloat16 or float16.
inline at::ScalarType WeightScalarType(Dtype dtype) {
  TRITOGEN_CHECK(dtype == Dtype::kFloat32 || dtype == Dtype::kBFloat16 || dtype == Dtype::kFloat16);
  if (dtype == Dtype::kFloat32) return at::kFloat;
  return dtype == Dtype::kBFloat16 ? at::kBFloat16 : at::kHalf;
}
inline Dtype WeightDtype(at::ScalarType type) {
  TRITOGEN_CHECK(type == at::kFloat || type == at::kBFloat16 || type == at::kHalf);
  if (type == at::kFloat) return Dtype::kFloat32;
  return type == at::kBFloat16 ? Dtype::kBFloat16 : Dtype::kFloat16;
}

}  // namespace tritogen
