#include "verify/inputs_alike.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <ranges>

#include "device/random.h"
#include "plan/visit.h"
#include "verify/asked_choices.h"
#include "verify/inputs.h"

namespace tritogen {
namespace {

// Numbers 0 to `end` - 1 by turns along the first dimension.
at::Tensor Turns(const at::Tensor& x, int64_t end, const Random& random) {
  const int64_t count = x.size(0);
  std::vector<int64_t> shape(x.dim(), 1);
  shape[0] = count;
  const auto start = count < end ? 0 : static_cast<int64_t>(random.Number(0, static_cast<double>(end)));
  return (at::arange(count, x.options().dtype(at::kLong)) + start).remainder(end).view(shape);
}

at::Tensor Agreeing(const at::Tensor& first, const at::Tensor& x, const Random& random) {
  const at::Tensor turns = Turns(x, 3, random);
  const at::Tensor opposite = first.lt(0).any().item<bool>() ? first.neg() : first;
  return at::empty_like(x).copy_(at::where(turns.eq(0), first, at::where(turns.eq(1), opposite, x)));
}

// The same lines, the same up to a place, the same a place later, and lines as generated. What lies beyond
// its own numbers may be no place of what it chooses from.
at::Tensor AgreeingIntegers(const at::Tensor& first, const at::Tensor& x, const Random& random) {
  const at::Tensor turns = Turns(x, 4, random);
  const int64_t length = x.size(-1);
  const at::Tensor places = at::arange(length, x.options().dtype(at::kLong));
  std::vector<int64_t> lines = x.sizes().vec();
  lines.back() = 1;
  const at::Tensor ends = random.Uniform(lines, 0, static_cast<double>(length + 1)).floor();
  const at::Tensor until = at::where(places < ends, first, x);
  const at::Tensor later = at::where(turns.eq(2), first.roll(1, -1), x);
  const at::Tensor agreeing = at::where(turns.eq(0), first, at::where(turns.eq(1), until, later));
  const at::Tensor is_own = agreeing.ge(x.min()).logical_and(agreeing.le(x.max()));
  return at::empty_like(x).copy_(at::where(is_own, agreeing, x));
}

bool MayAgree(const at::Tensor& x, bool keeps_apart) {
  const bool in_memory = x.dim() > 0 && x.numel() > 1 && x.is_non_overlapping_and_dense();
  if (!in_memory || IsTwoValued(x)) return false;
  if (at::isFloatingType(x.scalar_type())) return true;
  return IsInteger(x) && !IsAscending(x) && !(keeps_apart && AreApart(x));
}

}  // namespace

bool HasAlike(const Plan& plan) {
  const std::vector<TensorId> leaves = TensorLeaves(plan.inputs);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const TensorMeta& one = plan.tensors[leaves[i]];
    const auto is_like = [&](TensorId id) {
      return plan.tensors[id].sizes == one.sizes && plan.tensors[id].dtype == one.dtype;
    };
    const bool counts = IsFloating(one.dtype) || IsInteger(one.dtype);
    if (counts && std::ranges::any_of(leaves | std::views::drop(i + 1), is_like)) return true;
  }
  return false;
}

std::optional<std::vector<at::Tensor>> Alike(const std::vector<at::Tensor>& generated, bool keeps_apart,
                                             uint64_t seed) {
  std::vector<at::Tensor> inputs = generated;
  bool changes = false;
  for (size_t i = 1; i < generated.size(); ++i) {
    const at::Tensor& x = generated[i];
    const auto is_like = [&](const at::Tensor& other) {
      return other.sizes() == x.sizes() && other.scalar_type() == x.scalar_type() &&
             MayAgree(other, keeps_apart);
    };
    if (!MayAgree(x, keeps_apart)) continue;
    const auto first = std::ranges::find_if(generated.begin(), generated.begin() + i, is_like);
    if (first == generated.begin() + i) continue;
    const Random random(SubSeed(seed, i), x.device());
    inputs[i] = IsInteger(x) ? AgreeingIntegers(*first, x, random) : Agreeing(*first, x, random);
    changes = true;
  }
  return changes ? std::optional(std::move(inputs)) : std::nullopt;
}

}  // namespace tritogen
