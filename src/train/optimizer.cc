#include "train/optimizer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/rounding.h"
#include "device/builtin_launch.h"

namespace tritogen::train {
namespace {

constexpr int64_t kBlock = 1024;      // elements of a program: kernels/emit.py
constexpr int64_t kMostParts = 1024;  // programs that share the sum of squares

}  // namespace

AdamW::AdamW(const FlatWeights& weights, int64_t from, int64_t count, const AdamWOptions& options, bool plain)
    : weights_(weights), from_(from), count_(count), options_(options), plain_(plain) {
  TRITOGEN_CHECK(from >= 0 && count >= 0 && from + count <= weights.flat.numel());
  TRITOGEN_CHECK(from % kFlatAlignment == 0 && count % kFlatAlignment == 0);  // which the kernels are told
  state_.master = weights.flat.narrow(0, from, count).to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  state_.first = at::zeros_like(state_.master);
  state_.second = at::zeros_like(state_.master);
}

at::Tensor AdamW::SquaredNorm(const at::Tensor& gradients) const {
  const at::Tensor part = gradients.narrow(0, from_, count_);
  if (plain_ || count_ == 0) return part.square().sum();
  const int64_t programs = std::min(kMostParts, CeilDiv(count_, kBlock));
  const at::Tensor parts = at::empty({programs}, part.options());
  LaunchBuiltin("sum_squares", programs, {part, parts, count_});
  return parts.sum();
}

void AdamW::Step(const at::Tensor& gradients, const at::Tensor& squared_norm, double learning_rate) {
  const at::NoGradGuard no_gradients;
  const double steps = static_cast<double>(++state_.steps);
  const double first_correction = 1 - std::pow(options_.beta1, steps);
  const double second_correction = std::sqrt(1 - std::pow(options_.beta2, steps));
  const at::Tensor part = gradients.narrow(0, from_, count_);
  if (plain_) return PlainStep(part, squared_norm, learning_rate, first_correction, second_correction);
  if (count_ == 0) return;
  const at::Tensor weights = weights_.flat.narrow(0, from_, count_);
  LaunchBuiltin(fmt::format("adamw.{}", BuiltinDtype(weights.scalar_type())), CeilDiv(count_, kBlock),
                {part, squared_norm, state_.master, state_.first, state_.second, weights, count_, Decayed(),
                 learning_rate * options_.weight_decay, learning_rate / first_correction, 1 - options_.beta1,
                 options_.beta2, 1 - options_.beta2, 1 / second_correction, options_.epsilon, options_.clip});
}

int64_t AdamW::Decayed() const {
  return std::clamp<int64_t>(weights_.decayed - from_, 0, count_);
}

void AdamW::PlainStep(const at::Tensor& gradients, const at::Tensor& squared_norm, double rate,
                      double first_correction, double second_correction) {
  if (!std::isfinite(squared_norm.item<float>())) return;
  at::Tensor gradient = gradients;
  if (options_.clip > 0)  // as torch.nn.utils.clip_grad_norm_
    gradient = gradients * (options_.clip / (squared_norm.sqrt() + 1e-6)).clamp_max(1);
  state_.master.narrow(0, 0, Decayed()).mul_(1 - rate * options_.weight_decay);
  state_.first.lerp_(gradient, 1 - options_.beta1);
  state_.second.mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
  const at::Tensor divisor = (state_.second.sqrt() / second_correction).add_(options_.epsilon);
  state_.master.addcdiv_(state_.first, divisor, -rate / first_correction);
  WriteWeights();
}

void AdamW::WriteWeights() {
  weights_.flat.narrow(0, from_, count_).copy_(state_.master);
}

void AdamW::Restore(const AdamWState& state) {
  const at::NoGradGuard no_gradients;
  state_.master.copy_(state.master);
  state_.first.copy_(state.first);
  state_.second.copy_(state.second);
  state_.steps = state.steps;
  WriteWeights();
}

}  // namespace tritogen::train
