// Sorted lines, the last dimension of a value. Both ways are stable, NaN counts as the largest. `count`: of
// the first places; all where it is the line's length.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "teach/lowering.h"

namespace tritogen::teach {

// For each place the element that stands there and its number in the line before, int32, where it is asked
// for; (…, at least count).
struct Sorted {
  Value elements;
  std::optional<Value> number;
};

// By a sorting network, where 32 bits say how an element compares (sort_keys.h). Nothing where that does not
// fit, or takes too long.
std::optional<Sorted> SortByNetwork(Builder& b, const Value& line, int64_t count, bool descending,
                                    bool numbered);

// The numbers of the elements, by how many come before each one. Nothing where that takes too long.
std::optional<Value> OrderByRanks(Builder& b, const Value& line, int64_t count, bool descending);

// What no element comes behind, as a literal.
std::string LastText(Dtype dtype, bool descending);

// A line in pieces, (…, pieces, piece), filled up at its end with what no element comes behind.
struct Pieces {
  Value elements, number;  // and their numbers in the line
};
Pieces CutUp(Builder& b, const Value& line, int64_t piece, bool descending);

// A line of this shape whose pieces are each sorted: an element looks for its place in every other piece by
// halving, and there goes what `entries` has for it. `before`: how an element of the piece {2} comes before
// one of the piece {3}, of {0} and {1}.
Value Merged(Builder& b, const Value& sorted, const Value& entries, const std::vector<int64_t>& line,
             const std::string& before);

// Whether few of a line's places are asked for, so that most elements need no place.
bool AreFew(int64_t count, int64_t length);

}  // namespace tritogen::teach
