// Sorting by a network (tl.sort) of keys, of which elements and their numbers are read back. Longer lines are
// sorted in pieces. For a few places the first ones of all pieces are then sorted, again and again; for all
// of them the sorted pieces are merged.
#include <fmt/format.h>

#include "teach/kernel_text.h"
#include "teach/partition.h"
#include "teach/sort_keys.h"
#include "teach/sorting.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kShort = 32;                    // comparing all with all is less work there
constexpr int64_t kLongest = kHeldScan;           // line that one program sorts
constexpr int64_t kPiece = 2048;                  // of which few places are asked for
constexpr int64_t kMostPairs = int64_t{1} << 30;  // of elements and pieces

// The first `count` of each piece in one line, which is cut into pieces again.
Value FirstOfAll(Builder& b, const Value& sorted, int64_t count) {
  std::vector<int64_t> sizes = sorted.sizes();
  const int64_t left = sizes[sizes.size() - 2] * count;
  sizes.back() = left <= kLongest ? left : kPiece;
  sizes[sizes.size() - 2] = (left + sizes.back() - 1) / sizes.back();
  std::vector<Value> at = b.Indices(sizes);
  const Value entry = b.Affine("entry", {{sizes.back(), at[at.size() - 2]}, {1, at.back()}}, 0);
  at[at.size() - 2] = b.Pointwise("piece", fmt::format("{{0}} // {}", count), {entry}, Dtype::kInt32, 0);
  at.back() = b.Pointwise("place", fmt::format("{{0}} % {}", count), {entry}, Dtype::kInt32, 0);
  std::optional<Value> inside;
  if (left % sizes.back() != 0)
    inside = b.Pointwise("inside", fmt::format("{{0}} < {}", left), {entry}, Dtype::kBool, 0);
  return b.Load("best", sorted, at, inside, Neutral(ReduceOp::kSort, sorted.dtype));
}

Value FirstOfLong(Builder& b, const SortKeys& keys, const Value& line, int64_t count, bool descending) {
  const Pieces pieces = CutUp(b, line, kPiece, descending);
  Value sorted = b.Scan(ReduceOp::kSort, keys.Of(b, pieces.elements, pieces.number), -1);
  while (sorted.sizes()[sorted.sizes().size() - 2] > 1)
    sorted = b.Scan(ReduceOp::kSort, FirstOfAll(b, sorted, count), -1);
  sorted.view = Squeeze(sorted.view, -2);
  return sorted;
}

int64_t PieceOf(int64_t n) {
  return n <= 4 * kPiece ? kPiece : kLongest;
}

Value AllOfLong(Builder& b, const SortKeys& keys, const Value& line, bool descending) {
  const Pieces pieces = CutUp(b, line, PieceOf(line.sizes().back()), descending);
  const Value sorted = b.Scan(ReduceOp::kSort, keys.Of(b, pieces.elements, pieces.number), -1);
  return Merged(b, sorted, sorted, line.sizes(), "(({0} < {1}) | (({0} == {1}) & ({2} < {3})))");
}

}  // namespace

std::optional<Sorted> SortByNetwork(Builder& b, const Value& line, int64_t count, bool descending,
                                    bool numbered) {
  const int64_t n = line.sizes().back();
  if (!SortKeys::Fit(line.dtype) || n <= kShort) return std::nullopt;
  const SortKeys keys(line.dtype, n, descending, numbered);
  Value sorted;
  if (n <= kLongest) {
    sorted = b.Scan(ReduceOp::kSort, keys.Of(b, line, b.Index(line.sizes(), -1)), -1);
  } else if (AreFew(count, n)) {
    sorted = FirstOfLong(b, keys, line, count, descending);
  } else {
    if (line.view.numel() > kMostPairs / (n / PieceOf(n))) return std::nullopt;
    sorted = AllOfLong(b, keys, line, descending);
  }
  std::optional<Value> number;
  if (numbered) number = keys.Number(b, sorted);
  return Sorted{keys.Element(b, sorted), number};
}

}  // namespace tritogen::teach
