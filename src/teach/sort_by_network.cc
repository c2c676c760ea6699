// Sorting by a network (sort_text.h) of keys, of which elements and their numbers are read back. For a few
// places only candidates for these are sorted, those of a line or of each of its pieces: they are found by
// counting keys. Otherwise longer lines are sorted in pieces, which are merged.
#include <fmt/format.h>

#include <algorithm>

#include "base/rounding.h"
#include "teach/kernel.h"
#include "teach/kernel_text.h"
#include "teach/partition.h"
#include "teach/sort_keys.h"
#include "teach/sorting.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kShort = 32;                    // comparing all with all is less work there
constexpr int64_t kLongest = kHeldScan;           // line that one program sorts
constexpr int64_t kPiece = 2048;                  // the shortest
constexpr int64_t kMostPairs = int64_t{1} << 30;  // of elements and pieces

// The first `count` of each piece in one line, which is cut into pieces again.
Value FirstOfAll(Builder& b, const Value& sorted, int64_t count) {
  std::vector<int64_t> sizes = sorted.sizes();
  const int64_t left = sizes[sizes.size() - 2] * count;
  sizes.back() = left <= kLongest ? left : kPiece;
  sizes[sizes.size() - 2] = CeilDiv(left, sizes.back());
  std::vector<Value> at = b.Indices(sizes);
  const Value entry = b.Affine("entry", {{sizes.back(), at[at.size() - 2]}, {1, at.back()}}, 0);
  at[at.size() - 2] = b.Pointwise("piece", fmt::format("{{0}} // {}", count), {entry}, Dtype::kInt32, 0);
  at.back() = b.Pointwise("place", fmt::format("{{0}} % {}", count), {entry}, Dtype::kInt32, 0);
  std::optional<Value> inside;
  if (left % sizes.back() != 0)
    inside = b.Pointwise("inside", fmt::format("{{0}} < {}", left), {entry}, Dtype::kBool, 0);
  return b.Load("best", sorted, at, inside, Neutral(ReduceOp::kSort, sorted.dtype));
}

// Lines of more than this many times the places that are asked for have candidates. Finding them takes about
// a dozen counts of the line and one running sum, some 60 operations an element, and another launch; a
// network of 256 elements takes 36 steps of ten operations at least, one of 2,048 takes 66.
constexpr int64_t kElementsOfPlace = 16, kShortestCounted = 256;

// What a program looks through for candidates: of 4,096 elements three have room on a multiprocessor. Shorter
// ones where there are few lines.
int64_t CountedPiece(int64_t lines, int64_t n, int64_t room) {
  int64_t piece = std::min(NextPowerOf2(n), std::max<int64_t>(4096, 8 * room));
  const auto programs = [&] { return lines * CeilDiv(n, piece); };
  while (programs() < kProcessors && piece / 2 >= std::max(kPiece, 8 * room)) piece /= 2;
  return piece;
}

Value FirstOfCandidates(Builder& b, const SortKeys& keys, const SortKeys& plain, const Value& line,
                        int64_t count, bool descending) {
  const int64_t n = line.sizes().back(), room = std::max<int64_t>(16, NextPowerOf2(count + count / 4));
  const int64_t piece = CountedPiece(line.view.numel() / n, n, room);
  const auto candidates = [&](const Value& elements, const Value& number) {
    return b.Candidates(plain.Of(b, elements, number), keys.Of(b, elements, number), count, room);
  };
  if (piece >= n) return b.Scan(ReduceOp::kSort, candidates(line, b.Index(line.sizes(), -1)), -1);
  const Pieces pieces = CutUp(b, line, piece, descending);
  Value sorted = candidates(pieces.elements, pieces.number);
  for (int64_t first = room; sorted.sizes()[sorted.sizes().size() - 2] > 1; first = count)
    sorted = b.Scan(ReduceOp::kSort, FirstOfAll(b, sorted, first), -1);
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
  if (n >= kShortestCounted && count < n / kElementsOfPlace && AreFew(count, n)) {
    const SortKeys plain(line.dtype, n, descending, false);
    sorted = FirstOfCandidates(b, keys, plain, line, count, descending);
  } else if (n <= kLongest) {
    sorted = b.Scan(ReduceOp::kSort, keys.Of(b, line, b.Index(line.sizes(), -1)), -1);
  } else {
    if (line.view.numel() > kMostPairs / (n / PieceOf(n))) return std::nullopt;
    sorted = AllOfLong(b, keys, line, descending);
  }
  std::optional<Value> number;
  if (numbered) number = keys.Number(b, sorted);
  return Sorted{keys.Element(b, sorted), number};
}

}  // namespace tritogen::teach
