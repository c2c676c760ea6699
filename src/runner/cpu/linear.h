// Internal: what the products share.
#pragma once

#include "runner/cpu/isa.h"

namespace tritogen::cpu::TRITOGEN_ISA {

extern const LinearKernels kLinear;

inline void Finish(const Matrix& matrix, int64_t out, float sum, bool add, float* y) {
  if (matrix.scales) sum *= matrix.scales[out];
  if (matrix.bias) sum += matrix.bias[out];
  *y = add ? *y + sum : sum;
}

}  // namespace tritogen::cpu::TRITOGEN_ISA
