#include "teach/line_pieces.h"

#include <algorithm>

#include "base/rounding.h"

namespace tritogen::teach {
namespace {

constexpr int64_t kFewRows = 64, kLongRow = 16384;
// Lines that leave multiprocessors without one: where they hold so much, or these could have taken so much,
// that costs more than a launch.
constexpr int64_t kMuch = int64_t{1} << 23;
// Lines that a program walks along together, at the most and where there are few.
constexpr int64_t kLinesAcross = 64, kFewestAcross = 8;
constexpr int64_t kLongAcross = 4096;
constexpr int64_t kEnough = 4 * kProcessors;  // programs
// Elements of a piece. Of lines across memory all that a program has of a piece is in a cache.
constexpr int64_t kPiece = 4096, kPieceAcross = 256;
constexpr int64_t kLeastPart = 256, kLeast = 16;  // of a dimension, of all: shorter pieces are worth nothing

// The largest divisor of n up to `most`, and 1 when there is none worth it.
int64_t PartOf(int64_t n, int64_t most) {
  for (int64_t part = std::min(n, most), least = std::min(kLeastPart, most / 2);
       part >= std::max<int64_t>(least, 2); --part) {
    if (n % part == 0) return part;
  }
  return 1;
}

// Of pieces of about `most` elements, at least half as many, those that leave least of n; of many they all
// leave little.
int64_t PieceWithRest(int64_t n, int64_t most) {
  constexpr int64_t kMany = 16, kUnit = 16;
  int64_t best = most;
  if (n / most >= kMany) return best;
  for (int64_t piece = most - kUnit; piece >= most / 2; piece -= kUnit) {
    if (n % piece < n % best) best = piece;
  }
  return best;
}

}  // namespace

bool ReducedLines::AreFew() const {
  if (across && columns >= kLongAcross && CeilDiv(rows, kFewestAcross) < kFewRows) return true;
  if (columns < kLongRow) return false;
  const int64_t programs = across ? CeilDiv(rows, kLinesAcross) : rows;
  const int64_t idle = kProcessors - programs;
  return programs < kFewRows || (idle > 0 && (columns >= kMuch / rows || idle * columns >= kMuch));
}

ReducedLines LinesAlong(const std::vector<int64_t>& sizes, const std::vector<bool>& reduced) {
  ReducedLines lines{1, 1, false};
  for (size_t i = 0; i < sizes.size(); ++i) {
    (reduced[i] ? lines.columns : lines.rows) *= sizes[i];
    if (sizes[i] > 1) lines.across = !reduced[i];
  }
  return lines;
}

// Where the last dimension has no divisor, but there are many of it: each is a piece.
static std::optional<LinePieces> WholeLast(const Value& x, const std::vector<bool>& reduced,
                                           PieceOptions options) {
  const std::vector<int64_t>& sizes = x.sizes();
  const bool may = reduced.back() && options.cuts_dimensions && options.longest_whole < kHeldLine;
  if (!may || sizes.back() > kHeldLine || x.view.numel() / sizes.back() < kEnough) return std::nullopt;
  options.longest_whole = kHeldLine;
  return CutLines(x, reduced, options);
}

std::optional<LinePieces> CutLines(const Value& x, const std::vector<bool>& reduced,
                                   const PieceOptions& options) {
  std::vector<int64_t> sizes = x.sizes();
  LinePieces pieces{x, {}, {}, 1};
  const bool across = LinesAlong(sizes, reduced).across;
  const int64_t most = across ? kPieceAcross : kPiece;
  for (size_t at = sizes.size(); at-- > 0;) {
    const int64_t size = sizes[at], room = most / pieces.length;
    if (!reduced[at] || size == 1) continue;
    const auto dim = static_cast<int64_t>(at);
    const bool first = pieces.within.empty();
    const bool whole = size <= (first && !across ? options.longest_whole : room) ||
                       (first && (options.keeps_last || !options.cuts_dimensions));
    const bool ended = !pieces.of_line.empty() || (!first && (room == 1 || options.keeps_last));
    int64_t part = 1;
    if (!ended && whole) part = size;
    if (!ended && !whole && options.cuts_dimensions) part = PartOf(size, std::min(room, size / 2));
    if (part == 1 && first && across) part = PartOf(size, std::min(kPiece, size / 2));
    if (part == 1) {
      pieces.of_line.push_back(dim);
      continue;
    }
    pieces.length *= part;
    pieces.within.push_back(dim);
    if (part == size) continue;
    sizes[at] = size / part;
    sizes.insert(sizes.begin() + dim + 1, part);
    for (int64_t& inner : pieces.within) ++inner;
    pieces.of_line.push_back(dim);
  }
  if (pieces.length < kLeast || pieces.of_line.empty()) return WholeLast(x, reduced, options);
  std::ranges::reverse(pieces.within);
  std::ranges::reverse(pieces.of_line);
  pieces.x.view = *Reshape(x.view, sizes);  // a dimension in two is a view
  return pieces;
}

std::optional<LineParts> PartLines(const Value& x, const std::vector<bool>& reduced,
                                   const PieceOptions& options) {
  const std::vector<int64_t>& sizes = x.sizes();
  if (!options.cuts_dimensions || options.keeps_last) return std::nullopt;
  int64_t dim = -1;
  for (size_t at = 0; at < sizes.size(); ++at) {
    if (reduced[at] && (dim < 0 || sizes[at] >= sizes[dim])) dim = static_cast<int64_t>(at);
  }
  const int64_t most = LinesAlong(sizes, reduced).across ? kPieceAcross : kPiece;
  if (dim < 0 || sizes[dim] < 2 * most) return std::nullopt;
  const int64_t n = sizes[dim], whole = n - n % PieceWithRest(n, most);
  LineParts parts{dim, {Slice(x.view, dim, 0, whole, 1), x.dtype}, x};
  if (whole == n || !CutLines(parts.first, reduced, options)) return std::nullopt;
  parts.rest.view = Slice(x.view, dim, whole, n - whole, 1);
  return parts;
}

}  // namespace tritogen::teach
