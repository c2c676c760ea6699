// Names a precision downgrade: TF32 or half arithmetic under an fp32 contract, half under a TF32 contract.
#pragma once

#include <string>

#include "base/fp32_precision.h"
#include "plan/plan.h"

namespace tritogen {

// How much larger the errors of bfloat16 are: 8 significant bits against 11.
inline constexpr double kBfloat16OverTf32 = 8;

// What the candidate's kernels and steps show, whatever its errors are, that the contract does not allow.
struct PrecisionTraces {
  bool tf32 = false;  // a dot of fp32 operands with inputPrecision = tf32
  bool half = false;  // 16- or 8-bit floats although the reference has none
};
PrecisionTraces TracesOf(const Plan& reference, const Plan& candidate, Fp32Precision contract);

// "tf32" or "half" when an error (root mean square, absolute) has both the trace and the size of that
// downgrade, else "". `tf32_rms`: the error that rounding inputs and weights to TF32 alone brings about.
std::string DowngradeRule(const PrecisionTraces& traces, double error_rms, double tf32_rms);

}  // namespace tritogen
