#include "verify/budget_gain.h"

#include <ATen/ATen.h>

namespace tritogen {

GainBudget::GainBudget(const at::Tensor& exact, const at::Tensor& least_fill, double unit, double least)
    : least_(least) {
  if (exact.numel() == 0) return;
  const at::Tensor none = least_fill.le(0), counts = exact.abs().lt(least_fill).logical_or(none);
  const at::Tensor e = at::where(counts.logical_and(exact.isfinite()), exact, 0.0);
  const at::Tensor largest = e.abs().max().clamp_min(1e-150), relative = e / largest;  // squares may overflow
  const at::Tensor squares = relative.square().sum().clamp_min(1e-100);
  weights_ = relative / (squares * largest);
  noise_ = at::zeros({}, exact.options());
  spare_ = unit * (kAlways + kOfChance * relative.square().square().sum().sqrt() / squares);
}

at::Tensor GainBudget::ShareOf(const at::Tensor& exact, const at::Tensor& run) const {
  const at::Tensor error = run.to(at::kDouble) - exact;
  const at::Tensor counts = error.isfinite().logical_and(error.abs().gt(least_));
  return (at::where(counts, error, 0.0) * weights_).sum().abs();
}

void GainBudget::Count(const at::Tensor& exact, const at::Tensor& run) {
  if (!empty()) noise_ = at::maximum(noise_, ShareOf(exact, run));
}

at::Tensor GainBudget::Of(const at::Tensor& exact, const at::Tensor& got) const {
  return at::stack({ShareOf(exact, got), kMultiple * noise_ + spare_});
}

}  // namespace tritogen
