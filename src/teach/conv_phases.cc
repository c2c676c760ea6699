#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "teach/convolution.h"

namespace tritogen::teach {
namespace {

// Operations that a GPU does in the time of a byte to or from its memory, in dots of bfloat16 parts, of TF32
// and of half types.
double OperationsPerByte(const Builder& b, Dtype dtype) {
  return IsHalf(dtype) ? 220 : b.UsesTf32() ? 110 : 30;
}

// Of what comes behind the product: results that are no whole grid are stored and read once more.
double BytesBehind(const Convolution& g, const Phases& phases, Dtype dtype) {
  if (phases.AllWhole()) return 0;
  return 2.0 * static_cast<double>(DtypeSize(dtype)) *
         static_cast<double>(g.n * g.groups * phases.conv.o * Product(phases.conv.out));
}

// With this shift. Nothing where the offsets that are read are not evenly spaced.
std::optional<PhaseGrid> GridOf(const Convolution& g, size_t s, int64_t shift) {
  const int64_t stride = g.stride[s], dilation = g.dilation[s], padding = g.padding[s];
  PhaseGrid grid;
  grid.shift = shift;
  grid.phase_step = std::gcd(stride, dilation);
  grid.phases = stride / grid.phase_step;
  const int64_t step = grid.phase_step;
  grid.first_phase = ((shift - padding) % step + step) % step;
  std::set<int64_t> offsets;
  for (int64_t j = 0; j < grid.phases; ++j) {
    for (int64_t k = 0; k < g.kernel[s]; ++k) {
      const int64_t at = grid.first_phase + step * j - shift + padding - dilation * k;
      if (at % stride == 0) offsets.insert(at / stride);
    }
  }
  const std::vector<int64_t> sorted(offsets.begin(), offsets.end());
  grid.taps = static_cast<int64_t>(sorted.size());
  grid.first_offset = sorted.front();
  if (grid.taps > 1) grid.offset_step = sorted[1] - sorted[0];
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] - sorted[i - 1] != grid.offset_step) return std::nullopt;
  }
  grid.places = (g.out[s] - 1 + shift) / stride + 1;
  grid.whole = shift == 0 && step == 1 && g.out[s] % stride == 0;
  return grid;
}

// The one with the fewest taps, and of these one whose grid is whole.
std::optional<PhaseGrid> GridOf(const Convolution& g, size_t s) {
  std::optional<PhaseGrid> best;
  for (int64_t shift = 0; shift < g.stride[s]; ++shift) {
    const auto grid = GridOf(g, s, shift);
    if (!grid) continue;
    const bool better =
        !best || grid->taps < best->taps || (grid->taps == best->taps && grid->whole > best->whole);
    if (better) best = grid;
  }
  return best;
}

}  // namespace

bool Phases::AllHaveTaps() const {
  return std::ranges::all_of(dims, [](const PhaseGrid& grid) { return grid.phase_step == 1; });
}

bool Phases::AllWhole() const {
  return std::ranges::all_of(dims, &PhaseGrid::whole);
}

std::optional<Phases> PhasesOf(const Builder& b, Dtype dtype, const Convolution& g) {
  if (!g.transposed || !g.Strides()) return std::nullopt;
  Phases phases{{}, g};
  Convolution& conv = phases.conv;
  conv.transposed = false;
  for (size_t s = 0; s < g.in.size(); ++s) {
    const auto grid = GridOf(g, s);
    if (!grid) return std::nullopt;
    phases.dims.push_back(*grid);
    conv.o *= grid->phases;
    conv.kernel[s] = grid->taps;
    conv.out[s] = grid->places;
    conv.stride[s] = 1;
    conv.padding[s] = -grid->first_offset;
    conv.dilation[s] = grid->offset_step;
  }
  const double work = conv.Flops() + OperationsPerByte(b, dtype) * BytesBehind(g, phases, dtype);
  if (work > g.Flops()) return std::nullopt;
  return phases;
}

Value FiltersOf(Builder& b, const Value& weight, const Convolution& g, const Phases& phases) {
  const size_t spatial = g.in.size();
  std::vector<int64_t> sizes = {g.groups, g.o}, split = {g.groups, g.c, g.o};
  for (const PhaseGrid& grid : phases.dims) sizes.push_back(grid.phases);
  for (const PhaseGrid& grid : phases.dims) sizes.push_back(grid.taps);
  sizes.push_back(g.c);
  split.insert(split.end(), g.kernel.begin(), g.kernel.end());
  const std::vector<Value> all = b.Indices(sizes);
  std::vector<Value> index = {all[0], all.back(), all[1]};
  Conditions inside;
  for (size_t s = 0; s < spatial; ++s) {
    // dilation · k = phase - shift + padding - stride · offset
    const PhaseGrid& grid = phases.dims[s];
    const int64_t per_phase = grid.phase_step, per_tap = -g.stride[s] * grid.offset_step,
                  first = grid.first_phase - grid.shift + g.padding[s] - g.stride[s] * grid.first_offset;
    const Value k = b.Affine("tap", {{per_phase, all[2 + s]}, {per_tap, all[2 + spatial + s]}}, first);
    const int64_t least = first + per_tap * (grid.taps - 1), most = first + per_phase * (grid.phases - 1);
    index.push_back(inside.Quotient(b, "tap", k, g.dilation[s], least, most, g.kernel[s]));
  }
  return b.Load("weights", b.Reshape(weight, split), index, inside.All(b));
}

Value ResultsOf(Builder& b, const Value& product, const Convolution& g, const Phases& phases) {
  const size_t spatial = g.in.size();
  std::vector<int64_t> split = {g.n, g.groups, g.o};
  for (const PhaseGrid& grid : phases.dims) split.push_back(grid.phases);
  for (const PhaseGrid& grid : phases.dims) split.push_back(grid.places);
  std::vector<int64_t> sizes = {g.n, g.groups, g.o};
  sizes.insert(sizes.end(), g.out.begin(), g.out.end());
  const Value by_phase = b.Reshape(product, split);
  if (phases.AllWhole()) {
    std::vector<int64_t> order = {0, 1, 2};
    for (size_t s = 0; s < spatial; ++s) {
      order.push_back(static_cast<int64_t>(3 + spatial + s));
      order.push_back(static_cast<int64_t>(3 + s));
    }
    const Value turned{Permute(by_phase.view, order), product.dtype};
    return b.Reshape(b.Once("results", b.Pointwise("results", "{0}", {turned}, product.dtype, 0)), sizes);
  }
  const std::vector<Value> all = b.Indices(sizes);
  std::vector<Value> phase, place;
  Conditions inside;
  for (size_t s = 0; s < spatial; ++s) {
    const PhaseGrid& grid = phases.dims[s];
    const Value at = b.Affine("at", {{1, all[3 + s]}}, grid.shift);
    const auto part = [&](const char* name, const std::string& expr, const Value& of) {
      return b.Pointwise(name, expr, {of}, Dtype::kInt32, 0);
    };
    place.push_back(g.stride[s] == 1 ? at : part("place", fmt::format("{{0}} // {}", g.stride[s]), at));
    if (grid.phases == 1 && grid.phase_step == 1) {
      phase.push_back(b.Affine("phase", {{0, at}}, 0));
      continue;
    }
    Value number = part("phase", fmt::format("{{0}} % {}", g.stride[s]), at);
    if (grid.phase_step > 1) {
      inside.Add(number, fmt::format("% {} == {}", grid.phase_step, grid.first_phase));
      number = part("phase", fmt::format("{{0}} // {}", grid.phase_step), number);
    }
    phase.push_back(number);
  }
  std::vector<Value> index = {all[0], all[1], all[2]};
  index.insert(index.end(), phase.begin(), phase.end());
  index.insert(index.end(), place.begin(), place.end());
  return b.Load("results", by_phase, index, inside.All(b));
}

}  // namespace tritogen::teach
