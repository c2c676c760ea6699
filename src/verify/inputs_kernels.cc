#include "verify/inputs_kernels.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/rounding.h"
#include "device/builtin_launch.h"
#include "verify/inputs_planted.h"

namespace tritogen {
namespace {

constexpr int64_t kBlock = 1024;         // elements of a program, as kernels/emit.py has it
constexpr int64_t kMostPrograms = 1024;  // of those whose findings one program joins
constexpr int64_t kStatistics = 8;
constexpr size_t kMostDims = 4;
constexpr int64_t kAligned = 16;  // elements: what kernels are promised of addresses, in any dtype

using Dim = std::pair<int64_t, int64_t>;  // size, stride

// Dimensions with more than one element.
std::vector<Dim> WideDims(const at::Tensor& x) {
  std::vector<Dim> dims;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (x.size(d) > 1) dims.emplace_back(x.size(d), x.stride(d));
  }
  return dims;
}

int64_t Blocks(int64_t n) {
  return CeilDiv(n, kBlock);
}

at::Tensor Statistics(const at::Tensor& x) {
  const auto options = x.options().dtype(at::kDouble);
  const int64_t n = x.numel(), programs = std::min(Blocks(n), kMostPrograms);
  const std::string dtype = BuiltinDtype(x.scalar_type());
  const at::Tensor sums = at::empty({programs, kStatistics}, options),
                   stats = at::empty({kStatistics}, options);
  LaunchBuiltin("statistics." + dtype, programs, {x, sums, n});
  LaunchBuiltin("join_statistics." + dtype, 1, {x, sums, stats, programs, n});
  return stats;
}

// A number that shares no factor with n, so that its multiples visit every place.
int64_t StepFor(int64_t n, const Random& random) {
  int64_t step = 1 + random.Seed() % n;
  while (std::gcd(step, n) != 1) ++step;
  return step;
}

struct Change {
  const char* kind;
  double strength = 1, number = 0;
};

void Launch(const Change& change, const at::Tensor& x, const at::Tensor& out, const at::Tensor& stats,
            const Random& random) {
  std::array<Dim, kMostDims> dims;
  dims.fill({1, 1});
  std::vector<Dim> wide = WideDims(x);
  if (!wide.empty()) std::swap(wide[0], wide[static_cast<size_t>(random.Seed()) % wide.size()]);
  std::copy(wide.begin(), wide.end(), dims.begin());
  const int64_t n = x.numel();
  LaunchBuiltin(std::string("transform.") + change.kind + "." + BuiltinDtype(x.scalar_type()), Blocks(n),
                {x, out, stats, random.Seed(), n, change.strength, change.number, StepFor(n, random),
                 dims[0].first, dims[0].second, dims[1].first, dims[1].second, dims[2].first, dims[2].second,
                 dims[3].first, dims[3].second});
}

void Plant(const at::Tensor& out, const at::Tensor& stats, double strength, bool apart,
           const Random& random) {
  const Plants plants = DrawPlants(out.sizes(), out.strides(), strength, apart, random);
  const size_t count = plants.places.size(), far = count - plants.mild;
  std::array<int64_t, 4> places{};
  std::array<double, 4> values{};
  // The kernel writes four, of which the last two are far: of fewer some once more.
  for (size_t i = 0; i < 4; ++i) {
    const size_t from = i < 2 || far == 0 ? i % plants.mild : plants.mild + i % far;
    places[i] = plants.places[from];
    values[i] = plants.values[from];
  }
  LaunchBuiltin(std::string("plant.") + BuiltinDtype(out.scalar_type()), 1,
                {out, stats, places[0], places[1], places[2], places[3], values[0], values[1], values[2],
                 values[3], strength, far > 0 ? 1.0 : 0.0});
}

Change ChangeFor(Distribution distribution, const at::Tensor& x, double strength, const Random& random) {
  switch (distribution) {
    case Distribution::kSpread:
      return {"spread", strength};
    case Distribution::kFlipped:
      return {"flipped"};
    case Distribution::kShifted:
      return {"shifted", strength, random.Number(2, 6) * (random.Number(0, 1) < 0.5 ? -1 : 1)};
    case Distribution::kSpikes:
      return {"spikes", strength,
              std::max(1.0 / 512, 2.0 / static_cast<double>(std::max<int64_t>(2, x.numel())))};
    case Distribution::kLarge:
      return {"large"};
    case Distribution::kBinary:
      return {"binary", strength};
    case Distribution::kNearOne:
      return {"near_one"};
    case Distribution::kSwings: {
      int64_t longest = 1;
      for (const auto& [size, stride] : WideDims(x)) longest = std::max(longest, size);
      return {"swings", strength, static_cast<double>(std::max<int64_t>(4, (longest + 23) / 24))};
    }
    default:
      TRITOGEN_CHECK(false);
  }
}

// Along the dimension that is outermost in memory, each of fewer than `most` elements, as dense as the whole
// and as well aligned. Empty where there are no such pieces.
std::vector<at::Tensor> Pieces(const at::Tensor& x, int64_t most) {
  if (x.numel() < most) return {x};
  int64_t outermost = 0;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (x.size(d) > 1 && (x.size(outermost) == 1 || x.stride(d) > x.stride(outermost))) outermost = d;
  }
  const int64_t slice = x.numel() / x.size(outermost);
  int64_t at_once = (most - 1) / slice;
  if (slice % kAligned != 0) at_once -= at_once % kAligned;
  return at_once > 0 ? x.split(at_once, outermost) : std::vector<at::Tensor>();
}

template <typename F>
at::Tensor Filled(const at::Tensor& out, const at::Tensor& x, int64_t most, const F& fill) {
  const std::vector<at::Tensor> from = Pieces(x, most), to = Pieces(out, most);
  TRITOGEN_CHECK(!from.empty());
  for (size_t i = 0; i < from.size(); ++i) fill(from[i], to[i]);
  return out;
}

void TransformInto(const at::Tensor& out, Distribution distribution, const at::Tensor& x, double strength,
                   const Random& random) {
  const at::Tensor stats = Statistics(x);
  if (IsPlanted(distribution)) {
    out.copy_(x);
    Plant(out, stats, strength, distribution == Distribution::kPlantedApart, random);
    return;
  }
  if (distribution != Distribution::kLarge) {
    Launch(ChangeFor(distribution, x, strength, random), x, out, stats, random);
    return;
  }
  const at::Tensor unscaled = at::empty_like(x);
  Launch(ChangeFor(distribution, x, strength, random), x, unscaled, stats, random);
  Launch({"scaled", 1, random.Number(kLeastLarge, kMostLarge) * strength}, unscaled, out,
         Statistics(unscaled), random);
}

}  // namespace

bool KernelsTake(const at::Tensor& x) {
  if (!x.is_non_overlapping_and_dense()) return false;
  const std::vector<at::Tensor> pieces = Pieces(x, kMostFlat);
  return !pieces.empty() && IsFlat(pieces[0]) && WideDims(pieces[0]).size() <= kMostDims;
}

at::Tensor TransformByKernels(Distribution distribution, const at::Tensor& x, double strength,
                              const Random& random, int64_t most) {
  if (distribution == Distribution::kGenerated) return x;
  return Filled(at::empty_like(x), x, most, [&](const at::Tensor& from, const at::Tensor& to) {
    TransformInto(to, distribution, from, strength, random);
  });
}

at::Tensor RedrawByKernels(const at::Tensor& x, const Random& random) {
  return Filled(at::empty_like(x), x, kMostFlat, [&](const at::Tensor& from, const at::Tensor& to) {
    Launch({"redrawn"}, from, to, Statistics(from), random);
  });
}

at::Tensor WidenByKernels(const at::Tensor& x, Widening kind, int64_t seed, double unit) {
  constexpr std::array<const char*, 3> kNames = {"plain", "moved", "tf32"};
  const std::string name =
      std::string("widen.") + kNames[static_cast<size_t>(kind)] + "." + BuiltinDtype(x.scalar_type());
  const at::Tensor wide = at::empty_like(x, x.options().dtype(at::kDouble));
  return Filled(wide, x, kMostFlat, [&](const at::Tensor& from, const at::Tensor& to) {
    LaunchBuiltin(name, Blocks(from.numel()), {from, to, seed, from.numel(), unit});
    seed += 1;
  });
}

}  // namespace tritogen
