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
  if (pieces.length < kLeast || pieces.of_line.empty()) return std::nullopt;
  std::ranges::reverse(pieces.within);
  std::ranges::reverse(pieces.of_line);
  pieces.x.view = *Reshape(x.view, sizes);  // a dimension in two is a view
  return pieces;
}

}  // namespace tritogen::teach
