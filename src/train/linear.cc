#include "train/linear.h"

#include <ATen/ATen.h>

namespace tritogen::train {

void Linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& out) {
  at::Tensor result = out;
  if (bias.defined()) {
    at::addmm_out(result, bias, x, weight.t());
  } else {
    at::mm_out(result, x, weight.t());
  }
}

void LinearToInput(const at::Tensor& d_out, const at::Tensor& weight, const at::Tensor& d_x) {
  at::Tensor result = d_x;
  at::mm_out(result, d_out, weight);
}

void LinearToWeights(const at::Tensor& d_out, const at::Tensor& x, const at::Tensor& d_weight,
                     const at::Tensor& d_bias) {
  at::Tensor sums = d_weight;
  if (x.scalar_type() == at::kFloat) {
    at::addmm_out(sums, sums, d_out.t(), x);
  } else if (x.is_cuda()) {
    at::addmm_out(sums, sums, d_out.t(), x, at::kFloat);
  } else {  // ATen has no such product on the CPU
    at::addmm_out(sums, sums, d_out.t().to(at::kFloat), x.to(at::kFloat));
  }
  if (d_bias.defined()) d_bias.add_(at::sum(d_out, {0}, /*keepdim=*/false, at::kFloat));
}

}  // namespace tritogen::train
