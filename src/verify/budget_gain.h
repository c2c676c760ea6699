// What all errors of an output have in common. Roundings have no direction, so the share of an output that is
// in its errors is next to nothing. A factor that is off, n - 1 in the place of n, or another function makes
// such a share, and in half precision hides below what each element may be off by.
#pragma once

#include <ATen/core/Tensor.h>

namespace tritogen {

// |Σ e d| / Σ e² is at most
//     kMultiple · that of the reference's noise + unit roundoff · (kAlways + kOfChance / sqrt(n))
// where e is what is expected, d = got − e, and n = (Σ e²)² / Σ e⁴ counts the elements that weigh. Measured
// in bfloat16 and float16: 0.15 roundoffs at the most of honest programs, 0.5 and more of n - 1 for n.
class GainBudget {
 public:
  static constexpr double kMultiple = 8, kAlways = 0.3, kOfChance = 4;

  GainBudget() = default;
  // `exact`: float64. What is not smaller than `least_fill` (one number on its device; 0: all is) is left
  // out, and errors of no more than `least` are none.
  GainBudget(const at::Tensor& exact, const at::Tensor& least_fill, double unit, double least);

  bool empty() const { return !squares_.defined(); }
  // Another run of the reference, of whatever floating dtype.
  void Count(const at::Tensor& exact, const at::Tensor& run);
  // Two numbers, float64, on the device: the share, and what it may be. Not waited for.
  at::Tensor Of(const at::Tensor& exact, const at::Tensor& got) const;

 private:
  at::Tensor ShareOf(const at::Tensor& exact, const at::Tensor& run) const;

  at::Tensor Counting(const at::Tensor& exact) const;  // 0 where it is left out

  // One number each, squares in units of the largest element.
  at::Tensor least_fill_, largest_, squares_, noise_, spare_;
  double least_ = 0;
};

}  // namespace tritogen
