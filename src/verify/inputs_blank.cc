#include "verify/inputs_blank.h"

#include <ATen/ATen.h>

#include "device/random.h"

namespace tritogen {
namespace {

bool IsInteger(const at::Tensor& x) {
  return at::isIntegralType(x.scalar_type(), /*includeBool=*/false);
}

at::Tensor Chosen(bool all, const at::Tensor& x, bool flags) {
  if (x.numel() == 0) return x;
  if (x.scalar_type() == at::kBool) return at::full_like(x, all);
  if (flags && x.eq(1).all().item<bool>()) return all ? x : at::zeros_like(x);
  return IsTwoValued(x) ? at::empty_like(x).copy_((all ? x.max() : x.min()).expand_as(x)) : x;
}

// All elements are different ones.
bool AreApart(const at::Tensor& x) {
  const at::Tensor sorted = std::get<0>(x.flatten().sort());
  return sorted.narrow(0, 0, x.numel() - 1).ne(sorted.narrow(0, 1, x.numel() - 1)).all().item<bool>();
}

// Whole values leave, since single elements of them would be missed by nobody. From each of a few rows
// others: sources of edges that are no ends of any.
at::Tensor Leaving(const at::Tensor& x, const Random& random) {
  constexpr double kShare = 0.75;
  constexpr int64_t kMostValues = 1 << 20;  // of those that are told apart by a table
  const at::Tensor places = x - x.min();
  const int64_t range = places.max().item<int64_t>() + 1, rows = x.dim() > 1 ? x.size(0) : 1;
  if (range <= 0 || range > kMostValues / rows) return random.Uniform(x.sizes(), 0, 1).lt(kShare);
  const at::Tensor table = random.Uniform({rows, range}, 0, 1).lt(kShare);
  return table.gather(1, places.reshape({rows, -1})).view(x.sizes());
}

bool IsMeasure(const at::Tensor& x) {
  return at::isFloatingType(x.scalar_type()) && x.numel() > 0 && !IsTwoValued(x);
}

// Sigmoids and exponentials of it are next to nothing, but none of them is 0 in float32.
at::Tensor Below(const at::Tensor& x, const Random& random) {
  constexpr double kNearest = 40, kFarthest = 80;
  return at::empty_like(x).copy_(-random.Uniform(x.sizes(), kNearest, kFarthest));
}

// Both at once, or it says no more than either.
std::optional<std::vector<at::Tensor>> Nothing(Distribution distribution, const BlankLimits& limits,
                                               const std::vector<at::Tensor>& generated, uint64_t seed) {
  std::vector<at::Tensor> inputs;
  bool chooses = false, measures = false;
  for (size_t i = 0; i < generated.size(); ++i) {
    const at::Tensor& x = generated[i];
    at::Tensor changed = Chosen(false, x, limits.flags[i]);
    chooses |= !changed.is_same(x);
    if (IsMeasure(x)) {
      changed = distribution == Distribution::kNothing ? at::zeros_like(x)
                                                       : Below(x, Random(SubSeed(seed, i), x.device()));
      measures = true;
    }
    inputs.push_back(changed);
  }
  return chooses && measures ? std::optional(std::move(inputs)) : std::nullopt;
}

// Lines in order, of which the first piece is as long as all of them.
at::Tensor InOnePiece(const at::Tensor& x) {
  at::Tensor changed = x.clone();
  changed.narrow(-1, 1, x.size(-1) - 1).copy_(x.narrow(-1, x.size(-1) - 1, 1));
  return changed;
}

// `keys`: whose first element most become, or `all`, where x is looked for among others.
at::Tensor Gathered(bool all, const at::Tensor& x, const at::Tensor* keys, bool keeps_apart,
                    const Random& random) {
  if (!IsInteger(x) || x.numel() < 2 || IsTwoValued(x) || (keeps_apart && AreApart(x))) return x;
  if (IsAscending(x)) {
    if (x.size(-1) <= 2) return x;
    return at::empty_like(x).copy_(all ? InOnePiece(x) : Delayed(x));
  }
  const at::Tensor wide = x.to(at::kLong).contiguous();
  const auto place = static_cast<int64_t>(random.Number(0, static_cast<double>(x.numel())));
  const at::Tensor value =
      keys == nullptr || keys->numel() == 0 ? wide.flatten()[place] : keys->to(at::kLong).flatten()[0];
  return at::empty_like(x).copy_(all ? value.expand_as(wide) : at::where(Leaving(wide, random), value, wide));
}

}  // namespace

std::optional<std::vector<at::Tensor>> Blank(Distribution distribution, const BlankLimits& limits,
                                             const std::vector<at::Tensor>& generated, uint64_t seed) {
  if (IsNothing(distribution)) return Nothing(distribution, limits, generated, seed);
  std::vector<at::Tensor> inputs;
  bool changes = false;
  for (size_t i = 0; i < generated.size(); ++i) {
    const at::Tensor& x = generated[i];
    const Random random(SubSeed(seed, i), x.device());
    at::Tensor changed = x;
    if (Chooses(distribution)) {
      changed = Chosen(distribution == Distribution::kAll, x, limits.flags[i]);
    } else if (Gathers(distribution)) {
      const auto keys = limits.keys.empty() ? std::nullopt : limits.keys[i];
      changed = Gathered(distribution == Distribution::kCrowded, x, keys ? &generated[*keys] : nullptr,
                         limits.last_write_stays, random);
    } else if (IsMeasure(x)) {
      changed = at::zeros_like(x);
    }
    changes |= !changed.is_same(x);
    inputs.push_back(changed);
  }
  return changes ? std::optional(std::move(inputs)) : std::nullopt;
}

}  // namespace tritogen
