// Sorting by ranks: an element's place is the number of elements that come before it. That takes n²
// comparisons, but every one is independent, and the order is stable. Of longer lines every piece is ranked
// by itself. For a few places the best of all pieces are then compared, again and again; for all of them an
// element looks for its place in every other piece by halving, and goes where the sum of these says.
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

// What no element comes behind.
std::string LastText(Dtype dtype, bool descending) {
  if (IsFloating(dtype)) return descending ? "float(\"-inf\")" : "float(\"nan\")";
  const bool wide = dtype == Dtype::kInt64;
  if (dtype == Dtype::kUint8) return descending ? "0" : "255";
  const int64_t bits = static_cast<int64_t>(DtypeSize(dtype)) * 8;
  const std::string most = wide ? "9223372036854775807" : fmt::format("{}", (int64_t{1} << (bits - 1)) - 1);
  return descending ? fmt::format("-{} - 1", most) : most;
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

// How many elements of piece `other` come before an element of another piece, all sorted.
Value CountBefore(Builder& b, const Value& sorted, const Value& element, const Value& other, const Value& own,
                  const std::vector<Value>& at, bool descending) {
  Value count = b.Fill(element.sizes(), Dtype::kInt32, Arg{int64_t{0}});
  for (int64_t left = sorted.sizes().back(); left >= 1; left /= 2) {
    const int64_t half = left / 2;
    std::vector<Value> probe(at.begin(), at.end() - 2);
    probe.back() = other;
    probe.push_back(left == 1 ? count : b.Affine("probe", {{1, count}}, half - 1));
    const Value there = b.Load("there", sorted, probe);
    count = b.Pointwise(
        "count",
        fmt::format("tl.where({}, {{4}} + {}, {{4}})", BeforeText(descending), std::max<int64_t>(half, 1)),
        {there, element, other, own, count}, Dtype::kInt32, 4);
  }
  return count;
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

  std::vector<int64_t> space = sizes;  // (…, pieces, piece, pieces): each element against every piece
  space.push_back(sizes[sizes.size() - 2]);
  const std::vector<Value> at = b.Indices(space);
  const Value own = at[at.size() - 3], place = at[at.size() - 2], other = at.back();
  const Value element{Expand(Unsqueeze(sorted.view, -1), space), line.dtype};
  const Value before = CountBefore(b, sorted, element, other, own, at, descending);
  const Value counted =
      b.Pointwise("counted", "tl.where({0} == {1}, {2}, {3})", {other, own, place, before}, Dtype::kInt32, 1);
  const Value final_rank = b.Reduce(ReduceOp::kSum, counted, {-1}, false);

  std::vector<Value> places = b.Indices(sizes);
  places.pop_back();
  places.back() = final_rank;  // of what fills the last piece, behind the end
  return b.Scatter("order", "store", b.Fill(line.sizes(), Dtype::kInt32, Arg{int64_t{0}}), places, last - 1,
                   number);
}

}  // namespace

bool AreFew(int64_t count, int64_t length) {
  return count <= length / 8 && count <= 512;
}

Pieces CutUp(Builder& b, const Value& line, int64_t piece, bool descending) {
  const int64_t n = line.sizes().back();
  std::vector<int64_t> sizes = line.sizes();
  sizes.back() = (n + piece - 1) / piece;
  sizes.push_back(piece);
  std::vector<Value> at = b.Indices(sizes);
  const Value number = b.Affine("number", {{piece, at[at.size() - 2]}, {1, at.back()}}, 0);
  at.pop_back();
  at.back() = number;
  Value inside = b.Pointwise("inside", fmt::format("{{0}} < {}", n), {number}, Dtype::kBool, 0);
  return {b.Load("piece", line, at, inside, LastText(line.dtype, descending)), number};
}

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
