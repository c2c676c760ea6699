// Lines that are reduced by more programs than there are lines: each makes the result of a piece, and what
// follows joins them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "teach/lowering.h"

namespace tritogen::teach {

// Lines along the dimensions that are reduced.
struct ReducedLines {
  int64_t rows, columns;  // lines, and elements of one
  // The neighbours in memory of a line's elements are of other lines: something behind the last of the
  // reduced dimensions is kept. Programs walk along many lines together then.
  bool across;

  // Better reduced by more programs than they keep busy.
  bool AreFew() const;
};
ReducedLines LinesAlong(const std::vector<int64_t>& sizes, const std::vector<bool>& reduced);

// A value whose lines are cut: the last elements of a line, whole dimensions and a part of one at most, are a
// piece.
struct LinePieces {
  Value x;                       // with one dimension in two where a part of it is taken
  std::vector<int64_t> within;   // dimensions of a piece
  std::vector<int64_t> of_line;  // the others that are reduced: of the pieces of a line
  int64_t length;                // elements of a piece
};

struct PieceOptions {
  int64_t longest_whole;        // a line's last dimension is cut where it is longer
  bool keeps_last = false;      // a piece is the last dimension as it is
  bool cuts_dimensions = true;  // else pieces are of whole ones, however long the last is
};

// Nothing where sizes have no divisors for it. `reduced`: by dimension.
std::optional<LinePieces> CutLines(const Value& x, const std::vector<bool>& reduced,
                                   const PieceOptions& options);

// A value of which CutLines makes nothing (a length that is a prime number, say), in two along a dimension
// that is reduced: the first has divisors, the second is shorter than one of its pieces.
struct LineParts {
  int64_t dim;
  Value first, rest;
};
std::optional<LineParts> PartLines(const Value& x, const std::vector<bool>& reduced,
                                   const PieceOptions& options);

}  // namespace tritogen::teach
