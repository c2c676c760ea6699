#include "verify/inputs_blank.h"

#include <ATen/ATen.h>

#include "device/random.h"

namespace tritogen {
namespace {

at::Tensor Chosen(bool all, const at::Tensor& x, bool flags) {
  if (x.numel() == 0) return x;
  if (x.scalar_type() == at::kBool) return at::full_like(x, all);
  if (flags && x.eq(1).all().item<bool>()) return all ? x : at::zeros_like(x);
  return IsTwoValued(x) ? at::empty_like(x).copy_((all ? x.max() : x.min()).expand_as(x)) : x;
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

// Ranges and deviations of nothing, steps and angles between what is the same.
at::Tensor Level(const at::Tensor& x, const Random& random) {
  constexpr int64_t kWays = 4;
  if (x.dim() == 0) return x;
  const at::Tensor line = x.narrow(-1, 0, 1).expand_as(x);
  if (x.dim() == 1) return at::empty_like(x).copy_(line);
  const at::Tensor same = x.dim() > 2 ? x.narrow(1, 0, 1).expand_as(x) : x;
  std::vector<int64_t> slices(x.dim(), 1);
  slices[0] = x.size(0);
  const auto first = static_cast<int64_t>(random.Number(0, kWays));
  const at::Tensor turns =
      at::arange(first, first + x.size(0), x.options().dtype(at::kLong)).remainder(kWays).view(slices);
  const at::Tensor changed = at::where(turns.eq(1), x.roll(1, 0), at::where(turns.eq(2), line, x));
  return at::empty_like(x).copy_(at::where(turns.eq(3), same, changed));
}

// Lines in order, of which the first piece is as long as all of them.
at::Tensor InOnePiece(const at::Tensor& x) {
  at::Tensor changed = x.clone();
  changed.narrow(-1, 1, x.size(-1) - 1).copy_(x.narrow(-1, x.size(-1) - 1, 1));
  return changed;
}

// Of some elements the last one in front of them that stays, along a dimension.
at::Tensor InRuns(const at::Tensor& x, int64_t along, const Random& random) {
  std::vector<int64_t> line(x.dim(), 1), lines = x.sizes().vec();
  line[along] = x.size(along);
  if (along == 0) lines = line;  // whole slices
  const at::Tensor places = at::arange(x.size(along), x.options().dtype(at::kLong)).view(line);
  const at::Tensor stays = at::where(random.Uniform(lines, 0, 1) < 0.5, places, 0);
  return x.gather(along, std::get<0>(stays.cummax(along)).expand_as(x));
}

// One of the values that occur several times occurs once: a class, or a group, of one.
at::Tensor WithLonely(const at::Tensor& line, const Random& random) {
  const auto place = static_cast<int64_t>(random.Number(0, static_cast<double>(line.numel())));
  const at::Tensor value = line[place], others = line.masked_select(line.ne(value));
  if (others.numel() == 0) return line;
  at::Tensor changed = at::where(line.eq(value), others[0], line);
  changed[place].copy_(value);
  return changed;
}

// Runs along lines, lines that are those in front of them. Of short lines each place may mean something else
// (the ends of an edge), so whole ones are repeated.
at::Tensor Repeating(const at::Tensor& x, bool keeps_apart, const Random& random) {
  constexpr int64_t kLongLine = 8;
  if (!IsInteger(x) || x.dim() == 0 || x.numel() < 3 || IsTwoValued(x)) return x;
  if ((x.dim() == 1 || x.size(-1) >= kLongLine) && IsAscending(x)) return x;
  if (keeps_apart && AreApart(x)) return x;
  const at::Tensor wide = x.to(at::kLong).contiguous();
  if (x.dim() == 1) return at::empty_like(x).copy_(WithLonely(InRuns(wide, 0, random), random));
  if (x.size(-1) < kLongLine) return at::empty_like(x).copy_(InRuns(wide, 0, random));
  at::Tensor changed = InRuns(wide, x.dim() - 1, random);
  for (int64_t i = 2; i < x.size(0); i += 4) changed[i].copy_(changed[i - 1]);
  return at::empty_like(x).copy_(changed);
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
    } else if (distribution == Distribution::kRepeats) {
      changed = Repeating(x, limits.last_write_stays, random);
    } else if (Gathers(distribution)) {
      const auto keys = limits.keys.empty() ? std::nullopt : limits.keys[i];
      changed = Gathered(distribution == Distribution::kCrowded, x, keys ? &generated[*keys] : nullptr,
                         limits.last_write_stays, random);
    } else if (IsMeasure(x)) {
      changed = distribution == Distribution::kLevel ? Level(x, random) : at::zeros_like(x);
    }
    changes |= !changed.is_same(x);
    inputs.push_back(changed);
  }
  return changes ? std::optional(std::move(inputs)) : std::nullopt;
}

}  // namespace tritogen
