#include "verify/inputs_alike.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <ranges>

#include "device/random.h"
#include "plan/visit.h"
#include "verify/inputs.h"

namespace tritogen {
namespace {

// Numbers 0, 1 and 2 by turns along the first dimension.
at::Tensor Turns(const at::Tensor& x, const Random& random) {
  const int64_t count = x.size(0);
  std::vector<int64_t> shape(x.dim(), 1);
  shape[0] = count;
  const auto start = count < 3 ? 0 : static_cast<int64_t>(random.Number(0, 3));
  return (at::arange(count, x.options().dtype(at::kLong)) + start).remainder(3).view(shape);
}

at::Tensor Agreeing(const at::Tensor& first, const at::Tensor& x, const Random& random) {
  const at::Tensor turns = Turns(x, random);
  const at::Tensor opposite = first.lt(0).any().item<bool>() ? first.neg() : first;
  return at::empty_like(x).copy_(at::where(turns.eq(0), first, at::where(turns.eq(1), opposite, x)));
}

bool MayAgree(const at::Tensor& x) {
  return at::isFloatingType(x.scalar_type()) && x.dim() > 0 && x.numel() > 1 &&
         x.is_non_overlapping_and_dense() && !IsTwoValued(x);
}

}  // namespace

bool HasAlike(const Plan& plan) {
  const std::vector<TensorId> leaves = TensorLeaves(plan.inputs);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const TensorMeta& one = plan.tensors[leaves[i]];
    const auto is_like = [&](TensorId id) {
      return plan.tensors[id].sizes == one.sizes && plan.tensors[id].dtype == one.dtype;
    };
    if (IsFloating(one.dtype) && std::ranges::any_of(leaves | std::views::drop(i + 1), is_like)) return true;
  }
  return false;
}

std::optional<std::vector<at::Tensor>> Alike(const std::vector<at::Tensor>& generated, uint64_t seed) {
  std::vector<at::Tensor> inputs = generated;
  bool changes = false;
  for (size_t i = 1; i < generated.size(); ++i) {
    const at::Tensor& x = generated[i];
    const auto is_like = [&](const at::Tensor& other) {
      return other.sizes() == x.sizes() && other.scalar_type() == x.scalar_type() && MayAgree(other);
    };
    if (!MayAgree(x)) continue;
    const auto first = std::ranges::find_if(generated.begin(), generated.begin() + i, is_like);
    if (first == generated.begin() + i) continue;
    inputs[i] = Agreeing(*first, x, Random(SubSeed(seed, i), x.device()));
    changes = true;
  }
  return changes ? std::optional(std::move(inputs)) : std::nullopt;
}

}  // namespace tritogen
