// Answers that hold Inf or NaN because the program says so: what is masked out of a row of logits, the mean
// of no elements. Such an answer is no breakdown where it stands elsewhere for other inputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "plan/plan.h"

namespace tritogen {

// Which numbers that are not finite a tensor holds.
struct NonFinite {
  bool above = false, below = false, nan = false;
  bool Any() const { return above || below || nan; }
  NonFinite operator|(const NonFinite& other) const {
    return {above || other.above, below || other.below, nan || other.nan};
  }
};
NonFinite NonFiniteIn(const at::Tensor& floating);  // a GPU is waited for

// Which of them calls are given as numbers, those of set-up, too.
NonFinite NonFiniteNamed(const Plan& plan);

// `base`, an output for inputs as generated, with what another one (`exact` in fp64, `eager` in the declared
// dtype, `moved` for inputs and weights moved) has in the place of numbers that are not finite: where all of
// these have the same such number, it is of a `kind` that the program means, and all are finite in the same
// places. So overflow, which comes later in fp64, stays what it is.
at::Tensor WithMeant(const at::Tensor& base, NonFinite kind, const at::Tensor& exact, const at::Tensor& eager,
                     const std::vector<at::Tensor>& moved);

}  // namespace tritogen
