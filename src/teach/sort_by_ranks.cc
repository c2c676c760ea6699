// Sorting by ranks: an element's place is the number of elements that come before it. That takes n²
// comparisons, but every one is independent, and the order is stable. Of longer lines every piece is ranked
// by itself. For a few places the best of all pieces are then compared, again and again; for all of them the
// sorted pieces are merged.
#include <fmt/format.h>

#include "teach/sorting.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kShortLine = 1024;     // is never cut
constexpr int64_t kLongestWhole = 4096;  // nor is this where there is little of it
constexpr int64_t kMostOfWhole = int64_t{1} << 24, kMostComparisons = int64_t{1} << 34;

// One element of a line against another, {0} {1}, of the numbers {2} {3}: the first comes before the second.
// NaN counts as the largest.
std::string BeforeText(bool descending) {
  return descending ? "(({0} > {1}) | (({0} != {0}) & ({1} == {1})) | ((({0} == {1}) | (({0} "
                      "!= {0}) & ({1} != {1}))) & ({2} < {3})))"
                    : "(({0} < {1}) | (({1} != {1}) & ({0} == {0})) | ((({0} == {1}) | (({0} "
                      "!= {0}) & ({1} != {1}))) & ({2} < {3})))";
}

// Of each element the number of those of its line, the last dimension, that come before it.
Value Ranks(Builder& b, const Value& line, bool descending) {
  std::vector<int64_t> space = line.sizes();
  space.push_back(space.back());
  Value element{Expand(Unsqueeze(line.view, -1), space), line.dtype};
  Value other{Expand(Unsqueeze(line.view, -2), space), line.dtype};
  Value before = b.Pointwise("before", BeforeText(descending),
                             {other, element, b.Index(space, -1), b.Index(space, -2)}, Dtype::kBool, 4);
  Value rank = b.Reduce(ReduceOp::kSum, b.Cast(before, Dtype::kInt32), {-1}, false);
  if (rank.view.prim >= 0) b.graph.prims[rank.view.prim].name = "rank";
  return rank;
}

// For each of the first `count` places of a sorted line, the number of the element that stands there: the one
// whose rank is the place's.
Value FirstPlaces(Builder& b, const Value& line, int64_t count, bool descending) {
  const Value rank = Ranks(b, line, descending);
  std::vector<int64_t> space = line.sizes();
  space.insert(space.end() - 1, count);
  Value ranks{Expand(Unsqueeze(rank.view, -2), space), rank.dtype};
  Value found = b.Pointwise("found", "tl.where({0} == {1}, {2}, 0)",
                            {ranks, b.Index(space, -2), b.Index(space, -1)}, Dtype::kInt32, 1);
  return b.Reduce(ReduceOp::kSum, found, {-1}, false);
}

std::vector<int64_t> WithJoinedEnd(std::vector<int64_t> sizes) {
  const int64_t last = sizes.back();
  sizes.pop_back();
  sizes.back() *= last;
  return sizes;
}

// FirstPlaces of a long line: those of every piece come into the next round.
Value FirstOfLong(Builder& b, const Value& line, int64_t count, bool descending) {
  if (line.sizes().back() <= kShortLine) return FirstPlaces(b, line, count, descending);
  int64_t piece = 256;
  while (piece < 4 * count) piece *= 2;
  const Pieces pieces = CutUp(b, line, piece, descending);
  const Value places = FirstPlaces(b, pieces.elements, count, descending);
  std::vector<Value> at = b.Indices(places.sizes());
  const Value number = b.Once("number", b.Affine("number", {{piece, at[at.size() - 2]}, {1, places}}, 0));
  at.pop_back();
  at.back() = number;
  Value inside =
      b.Pointwise("inside", fmt::format("{{0}} < {}", line.sizes().back()), {number}, Dtype::kBool, 0);
  const Value best = b.Once("best", b.Load("best", line, at, inside, LastText(line.dtype, descending)));
  const std::vector<int64_t> sizes = WithJoinedEnd(best.sizes());
  const Value chosen = FirstOfLong(b, b.Reshape(best, sizes), count, descending);
  std::vector<Value> from = b.Indices(chosen.sizes());
  from.back() = chosen;
  return b.Load("number", b.Reshape(number, sizes), from);
}

int64_t PieceOf(int64_t n) {
  return n <= 4096 ? 256 : n <= 32768 ? 1024 : 2048;
}

// The numbers of all elements of a line in its sorted order.
Value SortedLong(Builder& b, const Value& line, bool descending) {
  const int64_t n = line.sizes().back(), piece = PieceOf(n);
  const Pieces pieces = CutUp(b, line, piece, descending);
  const Value rank = Ranks(b, pieces.elements, descending);
  const std::vector<int64_t>& sizes = pieces.elements.sizes();
  const auto last = static_cast<int64_t>(sizes.size()) - 1;
  std::vector<Value> to = b.Indices(sizes);
  to.back() = rank;
  const Value zero = b.Fill(sizes, line.dtype, Arg{int64_t{0}}),
              none = b.Fill(sizes, Dtype::kInt32, Arg{int64_t{0}});
  const Value sorted = b.Scatter("piece", "store", zero, to, last, pieces.elements);
  const Value number = b.Scatter("number", "store", none, to, last, pieces.number);
  return Merged(b, sorted, number, line.sizes(), BeforeText(descending));
}

}  // namespace

std::optional<Value> OrderByRanks(Builder& b, const Value& line, int64_t count, bool descending) {
  const int64_t n = line.sizes().back(), numel = line.view.numel();
  const bool whole = n <= kShortLine || (n <= kLongestWhole && numel * n <= kMostOfWhole);
  if (numel * (whole ? n : PieceOf(n)) > kMostComparisons ||
      (!whole && numel / PieceOf(n) * n > kMostComparisons / 16))
    return std::nullopt;
  if (whole) return FirstPlaces(b, line, count, descending);
  return AreFew(count, n) ? FirstOfLong(b, line, count, descending) : SortedLong(b, line, descending);
}

}  // namespace tritogen::teach
