// Statistics of lines that build on each other: the mean and the distances from it, the maximum and
// exponentials that it is taken from. A program that holds a line reads it once for both. Longer lines are
// cut into pieces that programs hold: each makes both of its piece, relative to the piece's own mean or
// maximum, and what follows joins them (Chan, Golub and LeVeque 1983; Milakov and Gimelshein 2018).
#include <algorithm>
#include <utility>

#include "teach/line_pieces.h"
#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kManyElements = int64_t{1} << 24;  // no cache holds them: who walks twice reads twice
constexpr int64_t kHeldAcross = 1024;                // of a line across memory: of many together
constexpr int64_t kWhole = 4096;

// Sizes and marks of dimensions.
struct Dimensions {
  std::vector<int64_t> sizes;
  std::vector<bool> reduced;
};

Dimensions DimensionsOf(const Value& x, const std::vector<int64_t>& dims) {
  return {x.sizes(), MarkedDims(dims, x.view.rank())};
}

// Whether lines are not reduced by one program each. Few are cut by what reduces them in any case, once for
// each of their statistics.
bool AreCut(const Builder& b, const Dimensions& d, Dtype dtype) {
  // Elements of a line of half types that a program finds in the L2 again.
  constexpr int64_t kCached = 131072;
  const ReducedLines lines = LinesAlong(d.sizes, d.reduced);
  if (DtypeSize(dtype) == 2 && !lines.across && lines.columns <= kCached && lines.rows >= 2 * kProcessors)
    return false;
  return b.CutsAnywhere() && (lines.AreFew() || (lines.columns > (lines.across ? kHeldAcross : kHeldLine) &&
                                                 lines.rows >= kManyElements / lines.columns));
}

// Nothing where lines are not cut.
std::optional<LinePieces> CutLines(const Builder& b, const Value& x, const std::vector<int64_t>& dims) {
  const Dimensions d = DimensionsOf(x, dims);
  return AreCut(b, d, x.dtype) ? CutLines(x, d.reduced, {.longest_whole = kWhole}) : std::nullopt;
}

// Of lines that nobody can cut as they stand; nothing where they need not be.
std::optional<LineParts> PartLines(const Builder& b, const Value& x, const std::vector<int64_t>& dims) {
  const Dimensions d = DimensionsOf(x, dims);
  return AreCut(b, d, x.dtype) ? PartLines(x, d.reduced, {.longest_whole = kWhole}) : std::nullopt;
}

// A value of all pieces of each line, in the shape of `x` with its dimensions kept.
Value OfLines(Builder& b, ReduceOp op, const Value& of_pieces, const LinePieces& cut, const Value& x,
              const std::vector<int64_t>& dims) {
  Dimensions d = DimensionsOf(x, dims);
  for (size_t i = 0; i < d.sizes.size(); ++i) {
    if (d.reduced[i]) d.sizes[i] = 1;
  }
  return b.Reshape(b.Reduce(op, of_pieces, cut.of_line, true), d.sizes);
}

// In the shape of the pieces' own values, for each piece of a line the line's.
Value ForPieces(Builder& b, const Value& of_lines, const LinePieces& cut) {
  std::vector<int64_t> sizes = cut.x.sizes();
  for (int64_t inner : cut.within) sizes[inner] = 1;
  for (int64_t outer : cut.of_line) sizes[outer] = 1;
  return b.Reshape(of_lines, sizes);
}

// What exponents are taken from: the maximum, where it is a number.
Value Shift(Builder& b, const Value& maximum) {
  return b.Pointwise("shift", "tl.where({0} == float(\"-inf\"), 0.0, {0})", {maximum}, maximum.dtype, 1);
}

// Says of the spread what it is, for products whose tiles can make both (tile_moments.cc).
void MarkSpread(Builder& b, const Value& x, const std::vector<int64_t>& dims, const Value& total,
                const Value& spread) {
  const auto is_sum = [&](const Value& value) {
    return value.view.prim >= 0 && b.graph[value.view.prim].kind == PrimKind::kReduce;
  };
  if (x.view.prim < 0 || !b.graph.IsWhole(x.view) || !is_sum(total) || !is_sum(spread)) return;
  const Dimensions d = DimensionsOf(x, dims);
  Prim::Spread mark{total.view.prim, 1, 1, 1};
  bool behind = false, within = false;  // the lines
  for (size_t i = 0; i < d.sizes.size(); ++i) {
    if (d.sizes[i] == 1) continue;
    if (!d.reduced[i] && behind) return;
    within |= !d.reduced[i];
    behind |= within && d.reduced[i];
    (behind ? mark.inner : within ? mark.lines : mark.outer) *= d.sizes[i];
  }
  if (!within) std::swap(mark.outer, mark.inner);  // one line
  b.graph.prims[spread.view.prim].spread = mark;
}

Moments JoinedMoments(Builder& b, const LinePieces& cut, const Value& x, const std::vector<int64_t>& dims) {
  const auto count = static_cast<double>(cut.length);
  Value total = b.Reduce(ReduceOp::kSum, cut.x, cut.within, true);
  Value middle = b.DividedByCount("middle", total, {cut.length});
  Value spread = b.Reduce(ReduceOp::kSum, b.Op("square", {b.Op("sub", {cut.x, middle}, middle.dtype)}),
                          cut.within, true);
  Value sum = OfLines(b, ReduceOp::kSum, total, cut, x, dims);
  Value mean = b.DividedByCount("mean", sum, CountedSizes(x.sizes(), dims));
  Value apart = b.Op("square", {b.Op("sub", {middle, ForPieces(b, mean, cut)}, mean.dtype)});
  Value joined = b.Op("add", {spread, b.Op("mul", {apart, count}, mean.dtype)}, mean.dtype);
  Value centered = b.Op("sub", {x, mean}, mean.dtype);
  Value all = OfLines(b, ReduceOp::kSum, joined, cut, x, dims);
  MarkSpread(b, x, dims, sum, all);
  return {mean, centered, all};
}

SoftmaxParts JoinedSoftmax(Builder& b, const LinePieces& cut, const Value& x,
                           const std::vector<int64_t>& dims) {
  Value largest = b.Reduce(ReduceOp::kLargest, cut.x, cut.within, true);
  const Dtype dtype = largest.dtype;
  Value sum = b.Reduce(ReduceOp::kSum, b.Op("exp", {b.Op("sub", {cut.x, Shift(b, largest)}, dtype)}),
                       cut.within, true);
  Value maximum = OfLines(b, ReduceOp::kLargest, largest, cut, x, dims);
  Value scale = b.Op("exp", {b.Op("sub", {largest, Shift(b, ForPieces(b, maximum, cut))}, dtype)});
  Value shifted = b.Op("sub", {x, maximum}, dtype);
  return {maximum, shifted, b.Op("exp", {shifted}),
          OfLines(b, ReduceOp::kSum, b.Op("mul", {sum, scale}, dtype), cut, x, dims)};
}

// Of two parts of each line, as of pieces.
Moments JoinedMoments(Builder& b, const LineParts& parts, const Value& x, const std::vector<int64_t>& dims) {
  const Moments first = MomentsOf(b, parts.first, dims), rest = MomentsOf(b, parts.rest, dims);
  const auto count = [&](const Value& part) {
    return static_cast<double>(Product(CountedSizes(part.sizes(), dims)));
  };
  const double of_first = count(parts.first), of_rest = count(parts.rest), all = of_first + of_rest;
  const Dtype dtype = first.mean.dtype;
  const Value apart = b.Op("sub", {rest.mean, first.mean}, dtype);
  const Value mean = b.Op("add", {first.mean, b.Op("mul", {apart, of_rest / all}, dtype)}, dtype);
  const Value between = b.Op("mul", {b.Op("square", {apart}), of_first * (of_rest / all)}, dtype);
  const Value spread = b.Op("add", {b.Op("add", {first.spread, rest.spread}, dtype), between}, dtype);
  return {mean, b.Op("sub", {x, mean}, dtype), spread};
}

// The largest number, and the sum of exponentials relative to it: 0 where all is -Inf.
std::pair<Value, Value> LargestAndSum(Builder& b, const Value& x, const std::vector<int64_t>& dims) {
  if (const auto cut = CutLines(b, x, dims)) {
    const SoftmaxParts parts = JoinedSoftmax(b, *cut, x, dims);
    return {parts.maximum, parts.sum};
  }
  const Value largest = b.Reduce(ReduceOp::kLargest, x, dims, true);
  const Value relative = b.Op("sub", {x, Shift(b, largest)}, largest.dtype);
  return {largest, b.Reduce(ReduceOp::kSum, b.Op("exp", {relative}), dims, true)};
}

SoftmaxParts JoinedSoftmax(Builder& b, const LineParts& parts, const Value& x,
                           const std::vector<int64_t>& dims) {
  const auto first = LargestAndSum(b, parts.first, dims), rest = LargestAndSum(b, parts.rest, dims);
  const Dtype dtype = first.first.dtype;
  const Value maximum = b.Op("maximum", {first.first, rest.first}, dtype);
  const auto rescaled = [&](const std::pair<Value, Value>& part) {
    const Value scale = b.Op("exp", {b.Op("sub", {part.first, Shift(b, maximum)}, dtype)});
    return b.Op("mul", {part.second, scale}, dtype);
  };
  const Value shifted = b.Op("sub", {x, maximum}, dtype);
  return {maximum, shifted, b.Op("exp", {shifted}), b.Op("add", {rescaled(first), rescaled(rest)}, dtype)};
}

}  // namespace

bool IsCut(const Builder& b, const Value& x, const std::vector<int64_t>& dims) {
  return CutLines(b, x, dims) || PartLines(b, x, dims);
}

Moments MomentsOf(Builder& b, const Value& x, const std::vector<int64_t>& dims) {
  if (const auto cut = CutLines(b, x, dims)) return JoinedMoments(b, *cut, x, dims);
  if (const auto parts = PartLines(b, x, dims)) return JoinedMoments(b, *parts, x, dims);
  Value sum = b.Reduce(ReduceOp::kSum, x, dims, true);
  Value mean = b.DividedByCount("mean", sum, CountedSizes(x.sizes(), dims));
  Value centered = b.Op("sub", {x, mean}, mean.dtype);
  Value spread = b.Reduce(ReduceOp::kSum, b.Op("square", {centered}), dims, true);
  MarkSpread(b, x, dims, sum, spread);
  return {mean, centered, spread};
}

SoftmaxParts Softmax(Builder& b, const Value& x, const std::vector<int64_t>& dims) {
  if (const auto cut = CutLines(b, x, dims)) return JoinedSoftmax(b, *cut, x, dims);
  if (const auto parts = PartLines(b, x, dims)) return JoinedSoftmax(b, *parts, x, dims);
  Value maximum = b.Reduce(ReduceOp::kLargest, x, dims, true);
  Value shifted = b.Op("sub", {x, maximum}, maximum.dtype);
  Value exponentials = b.Op("exp", {shifted});
  return {maximum, shifted, exponentials, b.Reduce(ReduceOp::kSum, exponentials, dims, true)};
}

}  // namespace tritogen::teach
