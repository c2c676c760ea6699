// Names a precision downgrade: TF32 or half arithmetic under an fp32 contract.
#pragma once

#include <string>

#include "plan/plan.h"

namespace tritogen {

// What the candidate's kernels and steps show, whatever its errors are.
struct PrecisionTraces {
  bool tf32 = false;  // a dot of fp32 operands with inputPrecision = tf32
  bool half = false;  // 16- or 8-bit floats although the reference has none
};
PrecisionTraces TracesOf(const Plan& reference, const Plan& candidate);

// "tf32" or "half" when an error (root mean square, absolute) has both the trace and the size of that
// downgrade, else "". `tf32_rms`: the error that rounding inputs and weights to TF32 alone brings about.
std::string DowngradeRule(const PrecisionTraces& traces, double error_rms, double tf32_rms);

}  // namespace tritogen
