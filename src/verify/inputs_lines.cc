#include "verify/inputs_lines.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "device/aten_dtype.h"

namespace tritogen {
namespace {

constexpr int64_t kLeastSlices = 3;
constexpr int64_t kLongLine = 8;  // whose ends are few of it

// As SliceSizes, along the first dimension that has more than one element.
std::vector<int64_t> FirstSlices(at::IntArrayRef sizes) {
  std::vector<int64_t> slices(sizes.size(), 1);
  const auto* wide = std::find_if(sizes.begin(), sizes.end(), [](int64_t size) { return size > 1; });
  if (wide != sizes.end()) slices[wide - sizes.begin()] = *wide;
  return slices;
}

// Along any dimension in one of `times` cases.
std::vector<int64_t> MostlyFirstSlices(at::IntArrayRef sizes, double times, const Random& random) {
  return random.Number(0, times) < 1 ? SliceSizes(sizes, random) : FirstSlices(sizes);
}

}  // namespace

std::vector<int64_t> SliceSizes(at::IntArrayRef sizes, const Random& random) {
  std::vector<int64_t> wide, slices(sizes.size(), 1);
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] > 1) wide.push_back(static_cast<int64_t>(d));
  }
  if (wide.empty()) return slices;
  const auto pick = static_cast<size_t>(random.Number(0, static_cast<double>(wide.size())));
  const int64_t d = wide[std::min(pick, wide.size() - 1)];
  slices[d] = sizes[d];
  return slices;
}

void SpikeEnds(at::Tensor* x, double spread, const Random& random) {
  if (x->dim() == 0) return;
  at::Tensor sides = at::zeros(x->sizes(), random.options());
  for (int64_t d = 0; d < x->dim(); ++d) {
    if (x->size(d) < kLongLine) continue;
    std::vector<int64_t> line = x->sizes().vec();
    line.erase(line.begin() + d);
    const at::Tensor side = random.Signs(line);
    sides.select(d, 0).copy_(side);
    sides.select(d, x->size(d) - 1).copy_(-side);
  }
  const at::Tensor sizes = random.Uniform(x->sizes(), 100, 200);
  for (const int64_t corner : {int64_t{0}, x->numel() - 1}) sizes.view(-1)[corner].mul_(3);
  *x = at::where(sides.ne(0), sizes * sides * spread, *x);
}

int64_t EndOfLine(at::IntArrayRef sizes, at::IntArrayRef strides, const Random& random) {
  std::vector<size_t> wide;
  int64_t place = 0;
  const bool last = random.Number(0, 1) < 0.7;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] >= kLeastSlices) wide.push_back(d);
  const size_t along = wide.empty() ? sizes.size() : wide[static_cast<size_t>(random.Seed()) % wide.size()];
  for (size_t d = 0; d < sizes.size(); ++d)
    place += strides[d] * (d == along ? (last ? sizes[d] - 1 : 0) : random.Seed() % sizes[d]);
  return place;
}

at::Tensor Swings(const at::Tensor& near_one, double strength, const Random& random) {
  const auto sizes = near_one.sizes();
  const int64_t longest = sizes.empty() ? 1 : *std::max_element(sizes.begin(), sizes.end());
  const int64_t apart = std::max<int64_t>(4, (longest + 23) / 24);
  at::Tensor phase = random.Uniform({}, 0, 1);
  at::Tensor place = at::full({}, std::floor(random.Number(0, static_cast<double>(apart))), random.options());
  for (int64_t d = 0; d < near_one.dim(); ++d) {
    std::vector<int64_t> line(sizes.size(), 1);
    line[d] = sizes[d];
    const at::Tensor index = at::arange(sizes[d], random.options()).view(line);
    phase = phase + index / static_cast<double>(sizes[d]);
    place = place + index;
  }
  const at::Tensor sign = at::where(phase.remainder(1) < 0.5, -1.0, 1.0);
  const at::Tensor jumps = at::pow(10.0, sign * random.Uniform(sizes, strength, 2 * strength));
  return at::where(place.remainder(apart) == 0, near_one * jumps, near_one);
}

void EmptySlices(at::Tensor* x, double value, const Random& random) {
  if (std::ranges::count_if(x->sizes(), [](int64_t size) { return size > 1; }) < 2) return;
  for (int64_t d = 0; d < x->dim(); ++d) {
    const int64_t size = x->size(d);
    if (size < kLeastSlices) continue;
    const auto place = static_cast<int64_t>(random.Number(0, static_cast<double>(size)));
    x->select(d, std::min(place, size - 1)).fill_(value);
  }
}

void EmptyAndFullSlice(at::Tensor* mask, const Random& random) {
  for (int64_t d = 0; d < mask->dim(); ++d) {
    const int64_t size = mask->size(d);
    if (size < kLeastSlices || mask->numel() == size) continue;
    const at::Tensor places = random.Permutation(size);
    for (const int64_t value : {0, 1}) mask->select(d, places[value].item<int64_t>()).fill_(value);
    return;
  }
}

at::Tensor Shrinks(const at::Tensor& x, double strength, const Random& random) {
  const std::vector<int64_t> slices = MostlyFirstSlices(x.sizes(), 4, random);
  // Not below what float16 has places for.
  const double most = x.scalar_type() == at::kHalf ? 3 : 9;
  at::Tensor decades = random.Uniform(slices, -most, -1);
  // One is as small as any: an epsilon that is left out shows there, if anywhere.
  decades.view(-1)[random.Seed() % decades.numel()].fill_(-most);
  // And so is one of the first dimension's, where others are shrunk: programs mostly norm these.
  if (x.dim() > 1 && slices[0] == 1 && x.size(0) >= kLeastSlices) {
    std::vector<int64_t> lines(slices.size(), 1);
    lines[0] = x.size(0);
    const auto chosen = static_cast<int64_t>(random.Seed() % static_cast<uint64_t>(x.size(0)));
    const at::Tensor line = at::arange(x.size(0), x.options().dtype(at::kLong)).view(lines).eq(chosen);
    decades = at::where(line, -most, decades);
  }
  return at::pow(10.0, decades * strength);
}

at::Tensor Offsets(const at::Tensor& x, double strength, const Random& random) {
  const double most = std::min(1e6 * strength, LargestOf(x.scalar_type()) / 8),
               least = std::min(1e4 * strength, most / 2);
  const bool lines = std::ranges::count_if(x.sizes(), [](int64_t each) { return each > 1; }) > 1;
  std::vector<int64_t> slices;  // of a single line all elements: they stay what they are beside each other
  if (lines) slices = MostlyFirstSlices(x.sizes(), 10, random);
  return at::pow(10.0, random.Uniform(slices, std::log10(least), std::log10(most)));
}

}  // namespace tritogen
