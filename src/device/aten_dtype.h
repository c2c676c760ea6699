// Dtypes of Plans as ATen's scalar types, and metas in words.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "plan/plan.h"

namespace tritogen {

at::ScalarType ToScalarType(Dtype dtype);
// The type that stands for it where everything inexact is computed in float64.
at::ScalarType InFloat64(Dtype dtype);
// Nothing for types that Plans do not have (quantised, half complex, …).
std::optional<Dtype> FromScalarType(at::ScalarType type);

// The largest finite number of a floating dtype: 65504 for float16.
double LargestOf(at::ScalarType dtype);

// Half a unit in the last place of 1.0: 2^-24 for float32, 2^-8 for bfloat16. 0 for integers.
double UnitRoundoff(at::ScalarType dtype);

// "float32[2, 3]"
std::string Describe(at::ScalarType type, at::IntArrayRef sizes);

}  // namespace tritogen
