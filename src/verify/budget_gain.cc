#include "verify/budget_gain.h"

#include <ATen/ATen.h>

namespace tritogen {

GainBudget::GainBudget(const at::Tensor& exact, const at::Tensor& least_fill, double unit, double least)
    : least_(least) {
  if (exact.numel() == 0) return;
  least_fill_ = least_fill;
  const at::Tensor e = Counting(exact);
  largest_ = e.abs().max().clamp_min(1e-150);  // squares may overflow
  const at::Tensor relative = e / largest_;
  squares_ = relative.square().sum().clamp_min(1e-100);
  noise_ = at::zeros({}, exact.options());
  spare_ = unit * (kAlways + kOfChance * relative.square().square().sum().sqrt() / squares_);
}

at::Tensor GainBudget::Counting(const at::Tensor& exact) const {
  const at::Tensor counts = exact.abs().lt(least_fill_).logical_or(least_fill_.le(0));
  return at::where(counts.logical_and(exact.isfinite()), exact, 0.0);
}

at::Tensor GainBudget::ShareOf(const at::Tensor& exact, const at::Tensor& run) const {
  const at::Tensor error = run.to(at::kDouble) - exact;
  const at::Tensor counts = error.isfinite().logical_and(error.abs().gt(least_));
  return (at::where(counts, error, 0.0) * (Counting(exact) / largest_)).sum().abs() / (squares_ * largest_);
}

void GainBudget::Count(const at::Tensor& exact, const at::Tensor& run) {
  if (!empty()) noise_ = at::maximum(noise_, ShareOf(exact, run));
}

at::Tensor GainBudget::Of(const at::Tensor& exact, const at::Tensor& got) const {
  return at::stack({ShareOf(exact, got), kMultiple * noise_ + spare_});
}

}  // namespace tritogen
