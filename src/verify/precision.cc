#include "verify/precision.h"

#include <algorithm>

#include "device/lowered_kernels.h"

namespace tritogen {
namespace {

// Rounding of activations between layers and of accumulators adds to rounding of inputs and weights.
constexpr double kAccumulation = 8;
// Tensor cores cut where the measure rounds: all to one side, so that errors of positive factors do not
// average out as those of roundings do, by the root of a sum's length.
constexpr double kCutting = 32;

// A tenth of a program computed in half is about so far off; what is further below has other reasons than
// its precision. Products of three bfloat16 numbers each, as exact as float32, are at a thousandth.
constexpr double kLeastShare = 1.0 / 32;

bool IsNarrow(Dtype dtype) {
  return IsFloating(dtype) && DtypeSize(dtype) < 4;
}

bool HasNarrowTensors(const Plan& plan) {
  return std::any_of(plan.tensors.begin(), plan.tensors.end(),
                     [](const TensorMeta& m) { return IsNarrow(m.dtype); });
}

// A tile or scalar of 16- or 8-bit floats in TTIR: "tensor<64x64xbf16>", ": f16", "f8E4M3FN".
bool MentionsNarrow(const std::string& ttir) {
  return ttir.find("bf16") != std::string::npos || ttir.find("xf16") != std::string::npos ||
         ttir.find(" f16") != std::string::npos || ttir.find("f8E") != std::string::npos;
}

}  // namespace

PrecisionTraces TracesOf(const Plan& reference, const Plan& candidate, Fp32Precision contract) {
  PrecisionTraces traces;
  if (HasNarrowTensors(reference)) return traces;  // the contract allows it
  traces.half = HasNarrowTensors(candidate);
  for (const Kernel& kernel : candidate.kernels) {
    traces.half |= MentionsNarrow(kernel.ttir);
    try {
      const tile::Features features = tile::Inspect(*LoweredKernels::Global().Get(kernel.ttir));
      traces.tf32 |= features.tf32_dot && contract != Fp32Precision::kTf32;
      traces.half |= features.half_dot_of_float;
    } catch (const tile::TtirError&) {
      // A kernel that does not load has a verdict of its own.
    }
  }
  return traces;
}

std::string DowngradeRule(const PrecisionTraces& traces, double error_rms, double tf32_rms) {
  if (error_rms < kLeastShare * tf32_rms) return "";
  if (traces.tf32 && error_rms <= kCutting * kAccumulation * tf32_rms) return "tf32";
  if (traces.half && error_rms <= kAccumulation * kBfloat16OverTf32 * tf32_rms) return "half";
  return "";
}

}  // namespace tritogen
