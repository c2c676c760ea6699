#include "teach/product_tiles.h"

#include <algorithm>
#include <utility>

#include "teach/factor_descriptor.h"
#include "teach/tile_reductions.h"

namespace tritogen::teach {
namespace {

// Columns that one sum takes in at the most, where a product is made of sums of sums.
constexpr int64_t kSum = 256;
constexpr int64_t kSumOnTensorCores = 128;  // which cut off what lies behind a sum's last place
constexpr double kManyFlops = 1 << 30;
constexpr int64_t kFewRows = 16;  // of the smallest dot

// The largest tiles of which each multiprocessor has one, as far as the result has so many rows and columns;
// else small ones. Two programs of 128 by 128 share a multiprocessor, whose memory holds three steps of each.
ProductTiles ChooseForTf32(ProductTiles t, const KernelOptions& options) {
  constexpr int64_t kMostOfFourWarps = 128 * 128;
  int64_t block_m = 64, block_n = 64;
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{128, 256}, {128, 128}, {64, 128}}) {
    if (n == 256 && (t.m <= 64 || t.n <= 128)) continue;
    if (t.batch * CeilDiv(t.m, Fit(m, t.m)) * CeilDiv(t.n, Fit(n, t.n)) < kProcessors) continue;
    block_m = m, block_n = n;
    break;
  }
  t.block_m = Fit(options.tile_m > 0 ? options.tile_m : block_m, t.m);
  t.block_n = Fit(options.tile_n > 0 ? options.tile_n : block_n, t.n);
  t.block_k = Fit(options.tile_k > 0 ? options.tile_k : 32, t.k);
  t.sum = t.k;
  const int64_t tile = t.block_m * t.block_n;
  t.num_warps = options.num_warps > 0 ? options.num_warps : tile > kMostOfFourWarps ? 8 : 4;
  t.num_stages = tile == kMostOfFourWarps ? 3 : 4;
  return t;
}

// Of half types and by tensor descriptors: the largest tiles that fill the multiprocessors. Two programs
// share a multiprocessor and its memory, but for the largest tiles and where there are not so many. With
// `turns` there are as many programs as there is room for.
ProductTiles ChooseDescribed(ProductTiles t, bool turns) {
  struct Steps {
    int64_t k;
    int stages;
  };
  struct Form {
    int64_t m, n;
    int num_warps;
    Steps alone, shared;
  };
  constexpr Form kForms[] = {{128, 256, 8, {64, 3}, {64, 3}},
                             {128, 128, 4, {64, 4}, {64, 3}},
                             {64, 128, 4, {128, 3}, {64, 4}},
                             {64, 64, 4, {128, 3}, {128, 3}}};
  for (const Form& form : kForms) {
    t.block_m = Fit(form.m, t.m), t.block_n = Fit(form.n, t.n);
    const bool alone = form.num_warps == 8 || t.Count() <= kProcessors;
    const Steps& steps = alone ? form.alone : form.shared;
    t.block_k = Fit(steps.k, t.k), t.num_warps = form.num_warps, t.num_stages = steps.stages;
    t.programs = alone ? kProcessors : 2 * kProcessors;
    if (t.m > form.m / 2 && t.n > form.n / 2 && FillProcessors(t.Count())) break;
  }
  if (!turns || t.Count() <= t.programs) t.programs = 0;
  t.sum = t.k;
  return t;
}

// Of what is done with each element of a product's tile.
double FlopsBehind(const Graph& graph, const Group& group) {
  double flops = 0;
  for (size_t i = 1; i < group.members.size(); ++i) flops += graph[group.members[i]].flops;
  return flops;
}

// A warp for each tile, with 128 sums in each thread: few loads for each multiplication. Where much is done
// with each result a thread has registers for a quarter of them.
ProductTiles ChooseForOuterProducts(ProductTiles t, int64_t taps, double flops_behind) {
  constexpr int64_t kManyRows = 32, kMostColumns = 512;
  constexpr double kMuchBehind = 16;
  const int64_t sums = 32 * (flops_behind > kMuchBehind ? 32 : 128);
  t.block_m = std::min(NextPowerOf2(t.m), t.m <= kManyRows ? kManyRows : kManyRows / 2);
  t.block_n = std::min({NextPowerOf2(t.n), sums / t.block_m, kMostColumns});
  t.block_k = taps, t.sum = t.k, t.num_warps = 1;
  return t;
}

// Whether tensor descriptors read both factors, of a half type.
bool IsDescribed(const Graph& graph, const Group& group) {
  const Prim& product = graph[group.members[0]];
  constexpr int64_t kLargestStep = 128;
  return IsHalf(product.compute[0]) && product.parts == 1 && DescribeFactor(graph, group, 0, kLargestStep) &&
         DescribeFactor(graph, group, 1, kLargestStep);
}

// Whether a tile of the result passes through shared memory as two bytes an element, on its way to what is
// stored and from what is read.
bool TilesAreHalf(const Graph& graph, const Group& group) {
  const auto wide = [&](PrimId id) { return DtypeSize(graph[id].dtype) > 2; };
  if (std::any_of(group.stores.begin(), group.stores.end(), wide)) return false;
  const int64_t tiles = Product(graph[group.members[0]].sizes);
  for (size_t i = 1; i < group.members.size(); ++i) {
    for (const View& view : Reads(graph, graph[group.members[i]])) {
      const bool loaded = view.prim >= 0 && group.per_row.count(view.prim) == 0;
      if (loaded && wide(view.prim) && graph.Whole(view.prim).numel() >= tiles) return false;
    }
  }
  return true;
}

// Whether the work behind a product is so little that it may be done while the next tile is multiplied: the
// loop over tiles and that along k become one, in which more has no registers, and what lies in shared memory
// for the next steps leaves room for half a tile of float32.
bool DoesLittleBehind(const Graph& graph, const Group& group) {
  constexpr double kMostFlops = 4;
  if (HasTileReductions(graph, group)) return false;
  return FlopsBehind(graph, group) <= kMostFlops && TilesAreHalf(graph, group);
}

// How many places a factor's elements are read by that are computed in each tile anew: four of the windows of
// an image. 0: none is.
size_t PlacesOfWindows(const Graph& graph, const Prim& product) {
  size_t places = 0;
  for (const View& view : product.operands) {
    const bool computed =
        view.prim >= 0 && graph[view.prim].inlined && graph[view.prim].kind == PrimKind::kLoad;
    if (computed) places = std::max(places, graph[graph[view.prim].operands[0].prim].sizes.size());
  }
  return places;
}

// Of three TF32 dots each: the largest tiles that fill the multiprocessors, else the smallest.
ProductTiles ChooseForTf32x3(ProductTiles t, size_t places_of_windows) {
  constexpr int64_t kShortSum = 256;
  constexpr size_t kPlacesOfLine = 3;
  constexpr std::pair<int64_t, int64_t> kForms[] = {{128, 64}, {64, 64}, {64, 32},
                                                    {32, 64},  {32, 32}, {16, 32}};
  for (const auto& [m, n] : kForms) {
    // Those of a line are computed again for each row of tiles; of more places there are no registers for it.
    const bool of_line = places_of_windows > 0 && places_of_windows <= kPlacesOfLine;
    if (m > 64 && !(of_line && t.m > 64 && t.k > kShortSum)) continue;
    t.block_m = Fit(m, t.m), t.block_n = Fit(n, t.n);
    if (FillProcessors(t.Count())) break;
  }
  // Of short sums more programs share a multiprocessor, whose memory holds three steps of each.
  // So do those that compute places of windows, in registers.
  const bool shares = t.block_m * t.block_n == 64 * 64 && t.k <= kShortSum;
  t.block_k = Fit(shares || places_of_windows > 0 ? 32 : 64, t.k), t.num_warps = 4;
  return t;
}

// Rounding errors grow with the terms of a sum, and of many long ones some are far beyond what the
// reference's, which are cut up, come to. Short programs stay as simple as they can be.
int64_t SumOf(const Prim& product, const ProductTiles& t, const KernelOptions& options) {
  const bool many = t.k >= 2 * kSum && t.Products() >= kManyFlops / 2;
  int64_t sum = t.k;
  if (product.parts > 1 && !options.one_sum) sum = kSumOnTensorCores;
  if (MultipliesFloat32(product) && many) sum = kSum;
  return sum < t.k && sum % t.block_k == 0 ? sum : t.k;
}

}  // namespace

bool MultipliesFloat32(const Prim& product) {
  return product.compute[0] == Dtype::kFloat32 && product.parts == 1 && product.taps == 0;
}

std::string DotPrecision(const Prim& product, const KernelOptions& options) {
  return PrecisionOf(product, options, options.simple ? "ieee" : "tf32x3");
}

ProductTiles ChooseTiles(const Graph& graph, const Group& group, const KernelOptions& options) {
  const Prim& product = graph[group.members[0]];
  const int64_t k = product.inner;
  ProductTiles t{group.Size(AxisKind::kBatch), group.Size(AxisKind::kM), group.Size(AxisKind::kN), k};
  if (product.taps > 0) return ChooseForOuterProducts(t, product.taps, FlopsBehind(graph, group));
  if (product.tf32) return ChooseForTf32(t, options);
  if (options.persistent_products && IsDescribed(graph, group))
    return ChooseDescribed(t, DoesLittleBehind(graph, group));
  if (MultipliesFloat32(product) && options.tile_m == 0 && DotPrecision(product, options) == "tf32x3") {
    t = ChooseForTf32x3(t, PlacesOfWindows(graph, product));
    t.sum = SumOf(product, t, options);
    return t;
  }
  bool half = !MultipliesFloat32(product);
  const bool deep_steps = half && product.parts == 1;  // all parts of a step lie in shared memory
  // Of few rows a weight is read as fast as memory goes: long steps, of many programs.
  const bool reads_weight = deep_steps && t.m <= kFewRows;
  const int64_t deep = reads_weight ? 128 : deep_steps ? 64 : 32;
  int64_t large = half ? 128 : 64, large_m = large, large_n = large;
  // Small products get small tiles, so that there are programs enough; what is taken apart in them is read by
  // few all the same.
  const auto count = [&t](int64_t m, int64_t n) { return t.batch * CeilDiv(t.m, m) * CeilDiv(t.n, n); };
  if (half ? !FillProcessors(count(large, large)) : count(large, large) < kProcessors) {
    if (!product.TakesApart(1)) large_m /= 2;
    if (!product.TakesApart(0) || product.TakesApart(1)) large_n /= 2;
  }
  if (reads_weight && count(large_m, large_n) < 2 * kProcessors) large_n = std::min<int64_t>(large_n, 64);
  // Tiles that take both apart have more to do in a step than to wait for: longer ones, and more warps.
  const bool apart = product.TakesApart(0) && product.TakesApart(1);
  if (apart && !FillProcessors(count(large_m, large_n))) large_m = 64, large_n = 32;
  const bool small = apart && large_n < large;
  if (small) t.num_stages = large_m == large ? 2 : 3;
  t.block_m = Fit(options.tile_m > 0 ? options.tile_m : large_m, t.m);
  t.block_n = Fit(options.tile_n > 0 ? options.tile_n : large_n, t.n);
  t.block_k = Fit(options.tile_k > 0 ? options.tile_k : small ? 64 : deep, t.k);
  t.sum = SumOf(product, t, options);
  const int64_t large_tile = apart ? 128 * 64 : 128 * 128;
  t.num_warps = options.num_warps > 0 ? options.num_warps : t.block_m * t.block_n >= large_tile ? 8 : 4;
  return t;
}

}  // namespace tritogen::teach
