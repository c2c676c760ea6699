// Orders of lines, the last dimension of a value: for each place of the sorted line the number of the element
// that stands there, as int32. Both are stable, NaN counts as the largest. `count`: of the first places; all
// where it is the line's length.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "teach/lowering.h"

namespace tritogen::teach {

// By a sorting network, where 32 bits say how an element compares: how it does and its number in the line
// make one number of 64 bits. (…, at least count). Nothing where that does not fit, or takes too long.
std::optional<Value> OrderByNetwork(Builder& b, const Value& line, int64_t count, bool descending);

// By the number of elements that come before each one. Nothing where that takes too long.
std::optional<Value> OrderByRanks(Builder& b, const Value& line, int64_t count, bool descending);

// What no element comes behind, as a literal.
std::string LastText(Dtype dtype, bool descending);

// A line in pieces, (…, pieces, piece), filled up at its end with what no element comes behind.
struct Pieces {
  Value elements, number;  // and their numbers in the line
};
Pieces CutUp(Builder& b, const Value& line, int64_t piece, bool descending);

// The order of a line of this shape whose pieces are each sorted: an element looks for its place in every
// other piece by halving. `before`: how an element of the piece {2} comes before one of the piece {3}, of {0}
// and {1}.
Value Merged(Builder& b, const Pieces& sorted, const std::vector<int64_t>& line, const std::string& before);

// Whether few of a line's places are asked for, so that most elements need no place.
bool AreFew(int64_t count, int64_t length);

}  // namespace tritogen::teach
