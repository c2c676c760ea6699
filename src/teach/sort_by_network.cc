// Sorting by a network (tl.sort) of numbers of 64 bits, of which the upper half says how an element compares
// and the lower half is its number in the line: no two are equal, and the order is stable. Longer lines are
// sorted in pieces. For a few places the first ones of all pieces are then sorted, again and again; for all
// of them the sorted pieces are merged.
#include <fmt/format.h>

#include "teach/kernel_text.h"
#include "teach/partition.h"
#include "teach/sorting.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kShort = 32;                    // comparing all with all is less work there
constexpr int64_t kLongest = kHeldScan;           // line that one program sorts
constexpr int64_t kPiece = 2048;                  // of which few places are asked for
constexpr int64_t kMostPairs = int64_t{1} << 30;  // of elements and pieces

// A number of 32 bits that compares as the element does: all NaN are one, and both zeros.
Value Key(Builder& b, const Value& x, bool descending) {
  if (!IsFloating(x.dtype)) {
    const Value narrow = b.Cast(x, Dtype::kInt32);
    return descending ? b.Pointwise("key", "{0} ^ -1", {narrow}, Dtype::kInt32, 1) : narrow;
  }
  const Value bits =
      b.Pointwise("bits", "tl.where({0} == {0}, ({0} + 0.0).to(tl.int32, bitcast=True), 0x7FC00000)", {x},
                  Dtype::kInt32, 2);
  return b.Pointwise("key", std::string("{0} ^ (({0} >> 31) & 0x7FFFFFFF)") + (descending ? " ^ -1" : ""),
                     {bits}, Dtype::kInt32, 3);
}

// Each line sorted, of elements with these numbers.
Value InOrder(Builder& b, const Value& elements, const Value& number, bool descending) {
  const Value packed = b.Pointwise("packed", "({0}.to(tl.int64) << 32) | {1}",
                                   {Key(b, elements, descending), number}, Dtype::kInt64, 2);
  return b.Scan(ReduceOp::kSort, packed, -1);
}

Value NumberOf(Builder& b, const Value& packed) {
  return b.Pointwise("number", "{0}.to(tl.int32)", {packed}, Dtype::kInt32, 0);
}

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
  return b.Load("best", sorted, at, inside, Neutral(ReduceOp::kSort, Dtype::kInt64));
}

Value FirstOfLong(Builder& b, const Value& line, int64_t count, bool descending) {
  const Pieces pieces = CutUp(b, line, kPiece, descending);
  Value sorted = InOrder(b, pieces.elements, pieces.number, descending);
  while (sorted.sizes()[sorted.sizes().size() - 2] > 1)
    sorted = b.Scan(ReduceOp::kSort, FirstOfAll(b, sorted, count), -1);
  sorted.view = Squeeze(sorted.view, -2);
  return NumberOf(b, sorted);
}

int64_t PieceOf(int64_t n) {
  return n <= 4 * kPiece ? kPiece : kLongest;
}

Value AllOfLong(Builder& b, const Value& line, bool descending) {
  const Pieces pieces = CutUp(b, line, PieceOf(line.sizes().back()), descending);
  const Value sorted = InOrder(b, pieces.elements, pieces.number, descending);
  return Merged(b, {sorted, NumberOf(b, sorted)}, line.sizes(), "{0} < {1}");
}

}  // namespace

std::optional<Value> OrderByNetwork(Builder& b, const Value& line, int64_t count, bool descending) {
  const int64_t n = line.sizes().back();
  const bool fits = IsFloating(line.dtype) ? DtypeSize(line.dtype) <= 4 : DtypeSize(line.dtype) < 8;
  if (!fits || n <= kShort) return std::nullopt;
  if (n <= kLongest) {
    const Value number = b.Index(line.sizes(), -1);
    return NumberOf(b, InOrder(b, line, number, descending));
  }
  if (AreFew(count, n)) return FirstOfLong(b, line, count, descending);
  if (line.view.numel() > kMostPairs / (n / PieceOf(n))) return std::nullopt;
  return AllOfLong(b, line, descending);
}

}  // namespace tritogen::teach
