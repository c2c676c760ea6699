// Statistics of lines that build on each other: the mean and the distances from it, the maximum and
// exponentials that it is taken from. A program that holds a line reads it once for both. Longer lines are
// cut into pieces that programs hold: each makes both of its piece, relative to the piece's own mean or
// maximum, and what follows joins them (Chan, Golub and LeVeque 1983; Milakov and Gimelshein 2018).
#include <algorithm>
#include <utility>

#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kManyElements = int64_t{1} << 24;  // no cache holds them: who walks twice reads twice
// Lines across memory are walked along by programs that have many of them: 64, and all of a piece's elements
// are in a cache then.
constexpr int64_t kHeldAcross = 1024, kPieceAcross = 256;

// A value of whose lines dimension `piece` has pieces; those of one line lie along `others`.
struct Cut {
  Value x;
  int64_t piece;
  std::vector<int64_t> others;
  int64_t length() const { return x.sizes()[piece]; }
};

// Sizes and marks of dimensions.
struct Dimensions {
  std::vector<int64_t> sizes;
  std::vector<bool> reduced;
};

Dimensions DimensionsOf(const Value& x, const std::vector<int64_t>& dims) {
  return {x.sizes(), MarkedDims(dims, x.view.rank())};
}

// Joins the last of the reduced dimensions with those in front of it, as far as memory allows. Nothing where
// there is none.
std::optional<size_t> MergeLast(View* view, Dimensions* d) {
  size_t last = d->sizes.size();
  while (last > 0 && (!d->reduced[last - 1] || d->sizes[last - 1] == 1)) --last;
  if (last-- == 0) return std::nullopt;
  while (last > 0 && d->reduced[last - 1]) {
    Dimensions merged = *d;
    merged.sizes[last - 1] *= merged.sizes[last];
    merged.sizes.erase(merged.sizes.begin() + static_cast<std::ptrdiff_t>(last));
    merged.reduced.erase(merged.reduced.begin() + static_cast<std::ptrdiff_t>(last));
    const auto as = Reshape(*view, merged.sizes);
    if (!as) break;
    *view = *as;
    *d = std::move(merged);
    --last;
  }
  return last;
}

// Nothing where lines are not cut.
std::optional<Cut> CutLines(const Builder& b, const Value& x, const std::vector<int64_t>& dims) {
  Dimensions d = DimensionsOf(x, dims);
  int64_t rows = 1, columns = 1;
  for (size_t i = 0; i < d.sizes.size(); ++i) (d.reduced[i] ? columns : rows) *= d.sizes[i];
  if (!b.CutsReductions() || (!AreFewLines(rows, columns) && rows < kManyElements / columns))
    return std::nullopt;
  View view = x.view;
  const auto last = MergeLast(&view, &d);
  if (!last) return std::nullopt;
  const bool across = std::any_of(d.sizes.begin() + static_cast<std::ptrdiff_t>(*last) + 1, d.sizes.end(),
                                  [](int64_t n) { return n > 1; });
  if (columns <= (across ? kHeldAcross : kHeldLine)) return std::nullopt;
  const int64_t size = d.sizes[*last], most = size < columns ? size : size / 2,
                piece = PieceOf(size, across ? std::min(most, kPieceAcross) : most);
  if (piece == 1) return std::nullopt;
  size_t at = *last;
  if (piece < size) {
    d.sizes[at] = size / piece;
    d.sizes.insert(d.sizes.begin() + static_cast<std::ptrdiff_t>(++at), piece);
    d.reduced.insert(d.reduced.begin() + static_cast<std::ptrdiff_t>(at), true);
    view = *Reshape(view, d.sizes);  // a dimension in two is a view
  }
  Cut cut{{view, x.dtype}, static_cast<int64_t>(at), {}};
  for (size_t i = 0; i < d.sizes.size(); ++i) {
    if (d.reduced[i] && i != at) cut.others.push_back(static_cast<int64_t>(i));
  }
  return cut;
}

// A value of all pieces of each line, in the shape of `x` with its dimensions kept.
Value OfLines(Builder& b, ReduceOp op, const Value& of_pieces, const Cut& cut, const Value& x,
              const std::vector<int64_t>& dims) {
  Dimensions d = DimensionsOf(x, dims);
  for (size_t i = 0; i < d.sizes.size(); ++i) {
    if (d.reduced[i]) d.sizes[i] = 1;
  }
  return b.Reshape(b.Reduce(op, of_pieces, cut.others, true), d.sizes);
}

// In the shape of the pieces' own values, for each piece of a line the line's.
Value ForPieces(Builder& b, const Value& of_lines, const Cut& cut) {
  std::vector<int64_t> sizes = cut.x.sizes();
  sizes[cut.piece] = 1;
  for (int64_t other : cut.others) sizes[other] = 1;
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
  if (!x.view.IsContiguous() || !is_sum(total) || !is_sum(spread)) return;
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

Moments JoinedMoments(Builder& b, const Cut& cut, const Value& x, const std::vector<int64_t>& dims) {
  const auto count = static_cast<double>(cut.length());
  Value total = b.Reduce(ReduceOp::kSum, cut.x, {cut.piece}, true);
  Value middle = b.DividedByCount("middle", total, {cut.length()});
  Value spread = b.Reduce(ReduceOp::kSum, b.Op("square", {b.Op("sub", {cut.x, middle}, middle.dtype)}),
                          {cut.piece}, true);
  Value sum = OfLines(b, ReduceOp::kSum, total, cut, x, dims);
  Value mean = b.DividedByCount("mean", sum, CountedSizes(x.sizes(), dims));
  Value apart = b.Op("square", {b.Op("sub", {middle, ForPieces(b, mean, cut)}, mean.dtype)});
  Value joined = b.Op("add", {spread, b.Op("mul", {apart, count}, mean.dtype)}, mean.dtype);
  Value centered = b.Op("sub", {x, mean}, mean.dtype);
  Value all = OfLines(b, ReduceOp::kSum, joined, cut, x, dims);
  MarkSpread(b, x, dims, sum, all);
  return {mean, centered, all};
}

SoftmaxParts JoinedSoftmax(Builder& b, const Cut& cut, const Value& x, const std::vector<int64_t>& dims) {
  Value largest = b.Reduce(ReduceOp::kLargest, cut.x, {cut.piece}, true);
  const Dtype dtype = largest.dtype;
  Value sum = b.Reduce(ReduceOp::kSum, b.Op("exp", {b.Op("sub", {cut.x, Shift(b, largest)}, dtype)}),
                       {cut.piece}, true);
  Value maximum = OfLines(b, ReduceOp::kLargest, largest, cut, x, dims);
  Value scale = b.Op("exp", {b.Op("sub", {largest, Shift(b, ForPieces(b, maximum, cut))}, dtype)});
  Value shifted = b.Op("sub", {x, maximum}, dtype);
  return {maximum, shifted, b.Op("exp", {shifted}),
          OfLines(b, ReduceOp::kSum, b.Op("mul", {sum, scale}, dtype), cut, x, dims)};
}

}  // namespace

bool IsCut(const Builder& b, const Value& x, const std::vector<int64_t>& dims) {
  return CutLines(b, x, dims).has_value();
}

Moments MomentsOf(Builder& b, const Value& x, const std::vector<int64_t>& dims) {
  if (const auto cut = CutLines(b, x, dims)) return JoinedMoments(b, *cut, x, dims);
  Value sum = b.Reduce(ReduceOp::kSum, x, dims, true);
  Value mean = b.DividedByCount("mean", sum, CountedSizes(x.sizes(), dims));
  Value centered = b.Op("sub", {x, mean}, mean.dtype);
  Value spread = b.Reduce(ReduceOp::kSum, b.Op("square", {centered}), dims, true);
  MarkSpread(b, x, dims, sum, spread);
  return {mean, centered, spread};
}

SoftmaxParts Softmax(Builder& b, const Value& x, const std::vector<int64_t>& dims) {
  if (const auto cut = CutLines(b, x, dims)) return JoinedSoftmax(b, *cut, x, dims);
  Value maximum = b.Reduce(ReduceOp::kLargest, x, dims, true);
  Value shifted = b.Op("sub", {x, maximum}, maximum.dtype);
  Value exponentials = b.Op("exp", {shifted});
  return {maximum, shifted, exponentials, b.Reduce(ReduceOp::kSum, exponentials, dims, true)};
}

}  // namespace tritogen::teach
