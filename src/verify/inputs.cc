#include "verify/inputs.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "verify/budget.h"

namespace tritogen {
namespace {

constexpr std::array<std::string_view, 7> kNames = {"generated", "spread", "flipped", "shifted",
                                                    "spikes",    "binary", "near_one"};

at::TensorOptions DoubleOptions() {
  return at::TensorOptions().dtype(at::kDouble);
}

// Uniform in [low, high).
at::Tensor Uniform(at::IntArrayRef sizes, double low, double high, const at::Generator& random) {
  return at::empty(sizes, DoubleOptions()).uniform_(low, high, random);
}

double UniformNumber(double low, double high, const at::Generator& random) {
  return Uniform({}, low, high, random).item<double>();
}

at::Tensor Signs(at::IntArrayRef sizes, const at::Generator& random) {
  return at::where(Uniform(sizes, 0, 1, random) < 0.5, -1.0, 1.0);
}

// Sizes of a tensor that broadcasts along everything but one dimension with more than one element.
std::vector<int64_t> SliceSizes(at::IntArrayRef sizes, const at::Generator& random) {
  std::vector<int64_t> wide, slices(sizes.size(), 1);
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] > 1) wide.push_back(static_cast<int64_t>(d));
  }
  if (wide.empty()) return slices;
  const auto pick = static_cast<size_t>(UniformNumber(0, static_cast<double>(wide.size()), random));
  const int64_t d = wide[std::min(pick, wide.size() - 1)];
  slices[d] = sizes[d];
  return slices;
}

double Spread(const at::Tensor& x) {
  const double deviation = x.numel() > 1 ? x.std().item<double>() : 0;
  if (std::isfinite(deviation) && deviation > 0) return deviation;
  const double size = x.numel() > 0 ? x.abs().max().item<double>() : 0;
  return std::isfinite(size) && size > 0 ? size : 1;
}

bool IsTwoValued(const at::Tensor& x) {
  if (x.numel() < 3) return false;
  const at::Tensor low = x.min(), high = x.max();
  return low.lt(high).item<bool>() && x.eq(low).logical_or(x.eq(high)).all().item<bool>();
}

at::Tensor Permuted(const at::Tensor& x, const at::Generator& random) {
  const at::Tensor order = at::randperm(x.numel(), random, at::TensorOptions().dtype(at::kLong));
  return x.contiguous().flatten().index_select(0, order).view(x.sizes());
}

// Changed values of a floating tensor, in fp64.
at::Tensor TransformFloat(Distribution distribution, const at::Tensor& x, double strength,
                          const at::Generator& random) {
  const auto sizes = x.sizes();
  switch (distribution) {
    case Distribution::kGenerated:
      return x;
    case Distribution::kSpread: {
      const double decades = 1.5 * strength;
      const at::Tensor scale = at::pow(10.0, Uniform(SliceSizes(sizes, random), -decades, decades, random));
      return x * scale * Signs(sizes, random);
    }
    case Distribution::kFlipped:
      return x.neg();
    case Distribution::kShifted: {
      const double shift = UniformNumber(2, 6, random) * (UniformNumber(0, 1, random) < 0.5 ? -1 : 1);
      const at::Tensor slices = Uniform(SliceSizes(sizes, random), -1, 1, random);
      return x + (slices + shift) * (strength * Spread(x));
    }
    case Distribution::kSpikes: {
      const double share = std::max(1.0 / 512, 2.0 / std::max<double>(2, x.numel()));
      const at::Tensor size = Uniform(sizes, 10, 100, random) * (strength * Spread(x));
      return at::where(Uniform(sizes, 0, 1, random) < share, size * Signs(sizes, random), x);
    }
    case Distribution::kBinary:
      return (Uniform(sizes, 0, 1, random) < 0.5).to(at::kDouble);
    case Distribution::kNearOne:
      return 1 + (x - x.mean()) * (0.01 / Spread(x));
  }
  return x;
}

at::Tensor TransformOne(Distribution distribution, const at::Tensor& x, double strength,
                        const at::Generator& random) {
  if (distribution == Distribution::kGenerated || x.numel() == 0) return x;
  at::Tensor changed;
  if (x.scalar_type() == at::kBool) {
    const at::Tensor redrawn = Uniform(x.sizes(), 0, 1, random) < 0.5;
    changed = at::where(Uniform(x.sizes(), 0, 1, random) < 0.5, redrawn, x);
  } else if (!at::isFloatingType(x.scalar_type())) {
    return x;
  } else {
    const at::Tensor values = x.to(at::kDouble);
    changed = IsTwoValued(values) ? Permuted(values, random)
                                  : TransformFloat(distribution, values, strength, random);
  }
  if (!x.is_non_overlapping_and_dense()) return x;  // expanded tensors have no strided copy
  return at::empty_like(x).copy_(changed);
}

}  // namespace

std::string_view DistributionName(Distribution distribution) {
  return kNames[static_cast<size_t>(distribution)];
}

std::vector<at::Tensor> Transform(Distribution distribution, const std::vector<at::Tensor>& generated,
                                  uint64_t seed, double strength) {
  const at::Generator random = at::detail::createCPUGenerator(seed);
  std::vector<at::Tensor> inputs;
  // Which inputs are flipped: a random set that is not empty.
  const auto always = static_cast<size_t>(UniformNumber(0, static_cast<double>(generated.size()), random));
  for (size_t i = 0; i < generated.size(); ++i) {
    const bool chosen = i == always || UniformNumber(0, 1, random) < 0.5;
    const bool skip = distribution == Distribution::kFlipped && !chosen;
    inputs.push_back(skip ? generated[i] : TransformOne(distribution, generated[i], strength, random));
  }
  return inputs;
}

std::optional<at::Tensor> Redraw(const at::Tensor& tensor, uint64_t seed) {
  const at::Generator random = at::detail::createCPUGenerator(seed);
  at::Tensor changed;
  if (tensor.numel() == 0) return std::nullopt;
  if (tensor.scalar_type() == at::kBool) {
    changed = tensor.logical_not();
  } else if (at::isFloatingType(tensor.scalar_type())) {
    const at::Tensor x = tensor.to(at::kDouble);
    changed = IsTwoValued(x) ? x.min() + x.max() - x
                             : Permuted(x, random) + Uniform(x.sizes(), 0.5, 1.5, random) * Spread(x);
  } else {
    changed = tensor.flip(std::vector<int64_t>(tensor.dim() > 0 ? 1 : 0, 0));
    if (changed.equal(tensor)) changed = Permuted(tensor, random);
  }
  const at::Tensor result = at::empty_like(tensor).copy_(changed);
  if (result.equal(tensor)) return std::nullopt;
  return result;
}

std::vector<at::Tensor> Wobble(const std::vector<at::Tensor>& tensors, uint64_t seed) {
  const at::Generator random = at::detail::createCPUGenerator(seed);
  std::vector<at::Tensor> moved;
  for (const at::Tensor& tensor : tensors) {
    if (!at::isFloatingType(tensor.scalar_type())) {
      moved.push_back(tensor);
      continue;
    }
    const double u = UnitRoundoff(tensor.scalar_type());
    moved.push_back(tensor.to(at::kDouble) * (1 + Uniform(tensor.sizes(), -u, u, random)));
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
    // Round to nearest at bit 13: add half, cut. Infinities and NaN keep their upper bits.
    const at::Tensor bits = tensor.contiguous().view(at::kInt);
    const at::Tensor cut = (bits + 0x1000).bitwise_and(~0x1fff).view(at::kFloat);
    rounded.push_back(at::where(tensor.isfinite(), cut, tensor).to(at::kDouble));
  }
  return rounded;
}

uint64_t SubSeed(uint64_t seed, uint64_t index) {  // SplitMix64
  uint64_t z = seed + 0x9e3779b97f4a7c15 * (index + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace tritogen
