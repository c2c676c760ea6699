// Work of ATen calls in FLOPs and bytes, and which share of the reference's work a candidate does in Triton.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "verify/verdict.h"
#include "verify/work_flow.h"

namespace tritogen {

struct Work {
  double flops = 0;
  double bytes = 0;  // each tensor argument read once, each result written once

  Work& operator+=(const Work& other);
};

// One call. Factories, views and layout copies are free: neither side gets credit or blame for them.
Work WorkOf(const Plan& plan, const AtenStep& step);

// The ATen calls of `run` that can reach an output.
Work AtenWork(const Plan& plan, const Flow& flow);

// What of it moves data to places that are known beforehand (cat, pad, roll, …), as layout copies could.
Work MovingWork(const Plan& plan, const Flow& flow);

// Some ATen call of `run` that can reach an output computes, or copies.
bool MovesOrComputes(const Plan& plan, const Flow& flow);

// The tensors of real numbers that a call multiplies as matrices or windows with each other: no bias, nothing
// of a call that is not known to be a product.
std::vector<TensorId> FloatingFactors(const Plan& plan, const AtenStep& step);
// Those of float32, which a TF32 contract lets a program cut.
std::vector<TensorId> Float32Factors(const Plan& plan, const AtenStep& step);

// scaled_dot_product_attention itself; its weights are a factor that is no argument.
bool IsAttention(const AtenStep& step);

// Whether some call of set-up or run has any that this contract lets a program cut.
bool HasFloat32Factors(const Plan& plan, Fp32Precision contract);

// Some call of set-up or run may be a matrix product or convolution of float32 values, which libraries may
// compute in TF32. True in doubt.
bool MultipliesFloat32(const Plan& plan);

// 1 − candidate's ATen work / reference's work, in [0, 1]. Where the reference has work that layout copies
// could do (`moves`), the candidate's are charged, up to that. A candidate without a live launch has share 0.
WorkShare ShareOf(const Work& reference, const Work& moves, const Plan& candidate,
                  const Flow& candidate_flow);

}  // namespace tritogen
