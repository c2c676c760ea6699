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

void LinearToWeights(const at::Tensor& d_out, const at::Tensor& x, const at::Tensor& d_weight, bool add) {
  at::Tensor sums = d_weight, rows = d_out, columns = x;
  const bool mixed = x.scalar_type() != at::kFloat;
  if (mixed && x.is_cuda()) {
    add ? at::addmm_out(sums, sums, rows.t(), columns, at::kFloat)
        : at::mm_out(sums, rows.t(), columns, at::kFloat);
    return;
  }
  if (mixed) rows = rows.to(at::kFloat), columns = columns.to(at::kFloat);  // ATen has no such product here
  add ? at::addmm_out(sums, sums, rows.t(), columns) : at::mm_out(sums, rows.t(), columns);
}

}  // namespace tritogen::train
