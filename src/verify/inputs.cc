#include "verify/inputs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/splitmix.h"
#include "device/aten_dtype.h"
#include "device/random.h"
#include "verify/budget.h"
#include "verify/inputs_kernels.h"
#include "verify/inputs_lines.h"
#include "verify/inputs_planted.h"

namespace tritogen {
namespace {

constexpr std::array<std::string_view, 30> kNames = {
    "generated", "spread",   "flipped", "shifted",       "spikes",    "planted",   "planted_apart", "large",
    "binary",    "near_one", "swings",  "huge",          "far_below", "far_above", "asked",         "missing",
    "minus_inf", "opposed",  "tiny",    "none",          "all",       "uneven",    "crowded",       "repeats",
    "zeros",     "level",    "nothing", "nothing_below", "alike",     "sunk"};
constexpr double kHugeTimes = 1 << 17;

at::Device DeviceOf(const std::vector<at::Tensor>& tensors) {
  return tensors.empty() ? at::Device(at::kCPU) : tensors[0].device();
}

double Spread(const at::Tensor& x) {
  const double deviation = x.numel() > 1 ? x.std().item<double>() : 0;
  if (std::isfinite(deviation) && deviation > 0) return deviation;
  const double size = x.numel() > 0 ? x.abs().max().item<double>() : 0;
  return std::isfinite(size) && size > 0 ? size : 1;
}

at::Tensor Permuted(const at::Tensor& x, const Random& random) {
  const at::Tensor order = random.Permutation(x.numel());
  return x.contiguous().flatten().index_select(0, order).view(x.sizes());
}

at::Tensor Planted(const at::Tensor& x, double strength, bool apart, const Random& random) {
  const at::Tensor planted = x.is_non_overlapping_and_dense() ? x.clone() : x.contiguous();
  const at::Tensor in_memory = planted.as_strided({x.numel()}, {1});
  Plants plants = DrawPlants(x.sizes(), planted.strides(), strength, apart, random);
  const double spread = strength * Spread(x);
  for (size_t i = 0; i < plants.mild; ++i) plants.values[i] *= spread;
  for (size_t i = 0; i < plants.places.size(); ++i) in_memory[plants.places[i]].fill_(plants.values[i]);
  return planted;
}

// Magnitudes up to some hundreds, with slices along every dimension that stay ten times below.
at::Tensor Large(const at::Tensor& x, double strength, const Random& random) {
  at::Tensor scaled = x * random.Signs(x.sizes());
  for (int64_t d = 0; d < x.dim(); ++d) {
    std::vector<int64_t> slices(x.dim(), 1);
    slices[d] = x.size(d);
    scaled = scaled * at::pow(10.0, random.Uniform(slices, -1, 0));
  }
  const double most = scaled.abs().max().item<double>();
  return scaled * (random.Number(kLeastLarge, kMostLarge) * strength / (most > 0 ? most : 1));
}

// A GPU's time goes into launches.
bool ByKernels(const at::Tensor& x) {
  return !x.device().is_cpu() && KernelsTake(x);
}

// Changed values of a floating tensor, in fp64.
at::Tensor TransformFloat(Distribution distribution, const at::Tensor& x, double strength,
                          const Random& random) {
  const auto sizes = x.sizes();
  switch (distribution) {
    case Distribution::kGenerated:
      return x;
    case Distribution::kSpread: {
      const double decades = 1.5 * strength;
      const at::Tensor scale = at::pow(10.0, random.Uniform(SliceSizes(sizes, random), -decades, decades));
      return x * scale * random.Signs(sizes);
    }
    case Distribution::kFlipped:
      return x.neg();
    case Distribution::kShifted: {
      const double shift = random.Number(2, 6) * (random.Number(0, 1) < 0.5 ? -1 : 1);
      const at::Tensor slices = random.Uniform(SliceSizes(sizes, random), -1, 1);
      return x + (slices + shift) * (strength * Spread(x));
    }
    case Distribution::kSpikes: {
      const double share = std::max(1.0 / 512, 2.0 / std::max<double>(2, x.numel()));
      const at::Tensor size = random.Uniform(sizes, 10, 100) * (strength * Spread(x));
      at::Tensor spikes = at::where(random.Uniform(sizes, 0, 1) < share, size * random.Signs(sizes), x);
      SpikeEnds(&spikes, strength * Spread(x), random);
      return spikes;
    }
    case Distribution::kPlanted:
    case Distribution::kPlantedApart:
      return Planted(x, strength, distribution == Distribution::kPlantedApart, random);
    case Distribution::kLarge:
      return Large(x, strength, random);
    case Distribution::kBinary:
      return (random.Uniform(sizes, 0, 1) < 0.5).to(at::kDouble);
    case Distribution::kNearOne:
      return 1 + (x - x.mean()) * (0.01 / Spread(x));
    case Distribution::kSwings:
      return Swings(1 + (x - x.mean()) * (0.01 / Spread(x)), strength, random);
    case Distribution::kHuge:
    case Distribution::kFarBelow:
    case Distribution::kFarAbove:
    case Distribution::kAsked:
    case Distribution::kMissing:
    case Distribution::kMinusInf:
    case Distribution::kOpposed:
    case Distribution::kTiny:
    case Distribution::kNone:
    case Distribution::kAll:
    case Distribution::kUneven:
    case Distribution::kCrowded:
    case Distribution::kRepeats:
    case Distribution::kZeros:
    case Distribution::kLevel:
    case Distribution::kNothing:
    case Distribution::kNothingBelow:
    case Distribution::kAlike:
    case Distribution::kSunk:
      break;
  }
  return x;
}

// `side` of zero, of those that are far from it: 1 or -1.
at::Tensor TransformOne(Distribution distribution, const at::Tensor& x, double strength, int side,
                        const Random& random) {
  if (distribution == Distribution::kGenerated || x.numel() == 0) return x;
  const bool empties = distribution == Distribution::kBinary && strength == 1;
  at::Tensor changed;
  if (x.scalar_type() == at::kBool) {
    const double share = IsPlanted(distribution) ? 4 / static_cast<double>(x.numel()) : 0.5;
    const auto stream = static_cast<uint64_t>(distribution);  // of two with planted ones each has its own
    const Random own = IsPlanted(distribution) ? Random(SubSeed(random.Seed(), stream), x.device()) : random;
    const at::Tensor redrawn = own.Uniform(x.sizes(), 0, 1) < 0.5;
    changed = at::where(own.Uniform(x.sizes(), 0, 1) < share, redrawn, x);
    if (empties) EmptyAndFullSlice(&changed, random);
  } else if (!at::isFloatingType(x.scalar_type())) {
    return x;
  } else if (distribution == Distribution::kHuge) {
    if (IsTwoValued(x)) return x;
    changed = x.to(at::kDouble) * (strength * kHugeTimes);
  } else if (IsFar(distribution)) {
    if (IsTwoValued(x)) return x;
    changed = x.to(at::kDouble) + side * Offsets(x, strength, random);
  } else if (distribution == Distribution::kTiny) {
    if (IsTwoValued(x)) return x;
    changed = x.to(at::kDouble) * Shrinks(x, strength, random);
  } else if (ByKernels(x)) {
    return TransformByKernels(distribution, x, strength, random);
  } else {
    const at::Tensor values = x.to(at::kDouble);
    if (!IsTwoValued(values)) {
      changed = TransformFloat(distribution, values, strength, random);
    } else {
      changed = IsPlanted(distribution) ? values : Permuted(values, random);
    }
    if (empties) EmptySlices(&changed, IsTwoValued(values) ? values.min().item<double>() : 0, random);
  }
  if (!x.is_non_overlapping_and_dense()) return x;  // expanded tensors have no strided copy
  return at::empty_like(x).copy_(changed);
}

// Some programs look at the beginning of a tensor to see whether its values are the usual ones.
bool LeavesBeginning(Distribution distribution) {
  return distribution == Distribution::kFlipped || distribution == Distribution::kShifted ||
         distribution == Distribution::kLarge;
}

// Puts the first tenth or more of what was generated, in the order of memory, back in front of what was made
// of it.
void RestoreBeginning(const at::Tensor& x, const at::Tensor& changed, const Random& random) {
  const auto count = static_cast<int64_t>(random.Number(0.1, 0.3) * static_cast<double>(x.numel()));
  changed.as_strided({count}, {1}).copy_(x.as_strided({count}, {1}));
}

// Logarithms, roots and powers know no negative numbers: where none was generated, there is none.
at::Tensor WithSignsOf(const at::Tensor& x, const at::Tensor& changed) {
  if (x.to(at::kFloat).lt(0).any().item<bool>()) return changed;
  return at::empty_like(x).copy_(changed.to(at::kDouble).abs());
}

// Other integers. Those in order (offsets, row pointers) mean nothing out of it, and on a GPU a program that
// is given such may end with its context. Others are turned round along the longest dimension: a short one
// may tell apart what they are numbers of, as the two rows of a graph's edges do. Some take the value beside
// them: sums and counts do not see whether a line was turned.
at::Tensor Rearranged(const at::Tensor& integers, const Random& random) {
  at::Tensor changed = integers;
  if (IsAscending(integers) && integers.size(-1) > 2) {
    changed = Delayed(integers);
  } else if (integers.dim() > 0) {
    const auto longest = std::max_element(integers.sizes().begin(), integers.sizes().end());
    const int64_t along = longest - integers.sizes().begin();
    const at::Tensor turned = integers.flip(along);
    changed = at::where(random.Uniform(integers.sizes(), 0, 1) < 0.5, turned.roll(1, along), turned);
  }
  return changed.equal(integers) ? Permuted(integers, random) : changed;
}

// The first values, which tell of all what they are, nearly always; of a GPU's tensors in one transfer, where
// asking there would take some launches more.
std::vector<double> FirstFew(const at::Tensor& x) {
  constexpr int64_t kFew = 256;
  const at::Tensor few = x.reshape({-1}).slice(0, 0, kFew).cpu().to(at::kDouble).contiguous();
  return {few.const_data_ptr<double>(), few.const_data_ptr<double>() + few.numel()};
}

}  // namespace

bool IsAscending(const at::Tensor& x) {
  if (x.dim() == 0 || x.size(-1) == 0) return false;
  const int64_t n = x.size(-1);
  return x.narrow(-1, 0, n - 1).le(x.narrow(-1, 1, n - 1)).all().item<bool>();
}

at::Tensor Delayed(const at::Tensor& x) {
  const int64_t n = x.size(-1);
  return at::cat({x.narrow(-1, 0, 1), x.narrow(-1, 0, n - 2), x.narrow(-1, n - 1, 1)}, -1);
}

bool IsInteger(const at::Tensor& x) {
  return at::isIntegralType(x.scalar_type(), /*includeBool=*/false);
}

bool AreApart(const at::Tensor& x) {
  if (x.numel() < 2) return true;
  const at::Tensor sorted = std::get<0>(x.flatten().sort());
  return sorted.narrow(0, 0, x.numel() - 1).ne(sorted.narrow(0, 1, x.numel() - 1)).all().item<bool>();
}

bool IsTwoValued(const at::Tensor& x) {
  if (x.numel() < 3) return false;
  const std::vector<double> few = FirstFew(x);
  const auto other = std::ranges::find_if(few, [&](double value) { return value != few[0]; });
  const auto third = [&](double value) { return value != few[0] && value != *other; };
  if (other != few.end() && std::any_of(other, few.end(), third)) return false;
  const at::Tensor low = x.min(), high = x.max();
  const at::Tensor at_most_two = x.eq(low).logical_or(x.eq(high)).all();
  return at_most_two.logical_and(low.lt(high)).item<bool>();
}

bool HoldsIntegers(const at::Tensor& x) {
  if (!at::isFloatingType(x.scalar_type()) || x.numel() == 0) return false;
  if (!std::ranges::all_of(FirstFew(x), [](double value) { return value == std::round(value); }))
    return false;
  const at::Tensor wide = x.to(at::kFloat);
  return wide.eq(wide.round()).all().item<bool>();
}

std::string_view DistributionName(Distribution distribution) {
  return kNames[static_cast<size_t>(distribution)];
}

std::vector<at::Tensor> Transform(Distribution distribution, const std::vector<at::Tensor>& generated,
                                  uint64_t seed, double strength, bool keep_signs) {
  const Random random(seed, DeviceOf(generated));
  std::vector<at::Tensor> inputs;
  // Which inputs are flipped: a random set that is not empty.
  const auto always = static_cast<size_t>(random.Number(0, static_cast<double>(generated.size())));
  // By turns: who multiplies or subtracts two inputs gets both signs in one of the two trials.
  int side = distribution == Distribution::kFarBelow ? -1 : 1;
  for (size_t i = 0; i < generated.size(); ++i) {
    const bool chosen = i == always || random.Number(0, 1) < 0.5;
    const bool skip = distribution == Distribution::kFlipped && !chosen;
    const at::Tensor& x = generated[i];
    inputs.push_back(skip ? x : TransformOne(distribution, x, strength, side, random));
    at::Tensor& changed = inputs.back();
    if (changed.is_same(x) || !at::isFloatingType(x.scalar_type())) continue;
    if (distribution == Distribution::kFarAbove) side = -side;
    if (keep_signs) changed = WithSignsOf(x, changed);
    if (LeavesBeginning(distribution)) RestoreBeginning(x, changed, random);
  }
  return inputs;
}

void KeepInOrder(const std::vector<bool>& searched, const std::vector<at::Tensor>& generated,
                 std::vector<at::Tensor>* inputs) {
  for (size_t i = 0; i < inputs->size(); ++i) {
    const at::Tensor& x = generated[i];
    if (!searched[i] || !at::isFloatingType(x.scalar_type()) || (*inputs)[i].equal(x)) continue;
    if (!IsAscending(x)) continue;
    (*inputs)[i] = at::empty_like(x).copy_(std::get<0>((*inputs)[i].sort(-1)));
  }
}

void KeepProbabilities(const std::vector<bool>& probabilities, std::vector<at::Tensor>* inputs) {
  for (size_t i = 0; i < inputs->size(); ++i) {
    at::Tensor& x = (*inputs)[i];
    if (!probabilities[i] || !at::isFloatingType(x.scalar_type())) continue;
    const at::Tensor within = x.ge(0).logical_and(x.le(1));
    x = at::empty_like(x).copy_(at::where(within, x, x - x.floor()));
  }
}

void LowerFlags(const std::vector<bool>& flags, uint64_t seed, double strength,
                std::vector<at::Tensor>* inputs) {
  for (size_t i = 0; i < inputs->size(); ++i) {
    at::Tensor& x = (*inputs)[i];
    if (!flags[i] || x.numel() < 2 || x.lt(0).logical_or(x.gt(1)).any().item<bool>()) continue;
    const Random random(SubSeed(seed, i), x.device());
    at::Tensor drawn = random.Uniform(x.sizes(), 0, 1) < 0.5;
    if (strength == 1) EmptyAndFullSlice(&drawn, random);
    x = at::empty_like(x).copy_(drawn);
  }
}

std::optional<at::Tensor> Redraw(const at::Tensor& tensor, uint64_t seed) {
  const Random random(seed, tensor.device());
  at::Tensor changed;
  if (tensor.numel() == 0) return std::nullopt;
  if (tensor.is_complex()) {
    const auto parts = Redraw(at::view_as_real(tensor), seed);
    return parts ? std::optional(at::view_as_complex(*parts)) : std::nullopt;
  }
  if (tensor.scalar_type() == at::kBool) {
    changed = tensor.logical_not();
  } else if (ByKernels(tensor)) {
    return RedrawByKernels(tensor, random);
  } else if (at::isFloatingType(tensor.scalar_type())) {
    const at::Tensor x = tensor.to(at::kDouble);
    changed = IsTwoValued(x) ? x.min() + x.max() - x
                             : Permuted(x, random) + random.Uniform(x.sizes(), 0.5, 1.5) * Spread(x);
  } else {
    changed = Rearranged(tensor, random);
  }
  const at::Tensor result = at::empty_like(tensor).copy_(changed);
  if (result.equal(tensor)) return std::nullopt;
  return result;
}

std::vector<at::Tensor> Wobble(const std::vector<at::Tensor>& tensors, uint64_t seed) {
  const Random random(seed, DeviceOf(tensors));
  std::vector<at::Tensor> moved;
  for (const at::Tensor& tensor : tensors) {
    if (!at::isFloatingType(tensor.scalar_type())) {
      moved.push_back(tensor);
      continue;
    }
    const double halves = tensor.scalar_type() == at::kDouble ? 2 : 1;
    const double u = halves * UnitRoundoff(tensor.scalar_type());
    if (ByKernels(tensor)) {
      moved.push_back(WidenByKernels(tensor, Widening::kMoved, random.Seed(), u));
      continue;
    }
    moved.push_back(tensor.to(at::kDouble) * (1 + random.Uniform(tensor.sizes(), -u, u)));
  }
  return moved;
}

std::vector<at::Tensor> RoundToTf32(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> rounded;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.scalar_type() != at::kFloat) {
      rounded.push_back(tensor);
      continue;
    }
    if (ByKernels(tensor)) {
      rounded.push_back(WidenByKernels(tensor, Widening::kTf32, 0, 0));
      continue;
    }
    // Round to nearest at bit 13: add half, cut. Infinities and NaN keep their upper bits.
    const at::Tensor bits = tensor.contiguous().view(at::kInt);
    const at::Tensor cut = (bits + 0x1000).bitwise_and(~0x1fff).view(at::kFloat);
    rounded.push_back(at::where(tensor.isfinite(), cut, tensor).to(at::kDouble));
  }
  return rounded;
}

std::vector<at::Tensor> RoundToBfloat16(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> rounded;
  for (const at::Tensor& tensor : tensors) {
    const bool rounds = tensor.scalar_type() == at::kFloat;
    rounded.push_back(rounds ? tensor.to(at::kBFloat16).to(at::kDouble) : tensor);
  }
  return rounded;
}

at::Tensor CutToTf32(const at::Tensor& x, uint64_t seed) {
  constexpr int64_t kRest = (int64_t{1} << 42) - 1;  // of the 52 places of a float64 all but 10
  const at::Tensor bits = x.contiguous().view(at::kLong), rest = bits.bitwise_and(kRest);
  if (seed == 0) return (bits - rest).view(at::kDouble);
  const at::Tensor share = Random(seed, x.device()).Uniform(x.sizes(), 0, kRest).to(at::kLong);
  return (bits - at::where(rest == 0, 0, share)).view(at::kDouble);
}

}  // namespace tritogen
