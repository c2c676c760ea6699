// Second step of counting: a component becomes a network of small tables. A node is a variable or an
// intermediate result (the product of some of a tensor's sizes); a relation lists the combinations of its
// nodes' states that may stand together. An intermediate result is a function of the variables, so that a
// network has as many solutions as its component.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "synth/reduce.h"

namespace tritogen::synth {

// Thrown where tables would pass the limit of rows; caught in solver.cc, which then counts a superset.
struct TooLarge {};

struct Relation {
  std::vector<int> nodes;      // distinct
  std::vector<uint64_t> keys;  // distinct: states of the nodes, packed in order, the first in the lowest bits
};

// How exactly products are bounded. All but kExact round partial products down, or leave bounds out: they
// keep every solution and some more.
enum class Precision { kExact, kQuarterOctave, kOctave, kUnbounded };

struct Network {
  // States of a variable: values that behave alike, one value each as a rule. Variables come first, in the
  // component's order; nodes after them have no values of their own.
  std::vector<std::vector<Domain::Range>> cells;
  std::vector<int> sizes;  // by node: number of states
  std::vector<Relation> relations;
  bool exact = true;  // false: a superset of the component's solutions

  int Width(int node) const { return std::bit_width(static_cast<uint32_t>(sizes[node] - 1)); }
};

// Throws TooLarge when a relation has more than max_rows rows.
Network BuildNetwork(const Component& component, Precision precision, size_t max_rows);

}  // namespace tritogen::synth
