// Third step of counting: variable elimination. Nodes of a network are summed out one after the other; each
// leaves a table that says, for the states of its neighbours, how many ways there are to fill in everything
// eliminated so far below it. The last totals multiply to the number of solutions; walking back down the
// tables turns an index into the solution of that index, in time proportional to the number of nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "synth/key_index.h"
#include "synth/natural.h"
#include "synth/network.h"

namespace tritogen::synth {

// Counts of an elimination: 128 bits where they suffice, else Natural. Either throws CountOverflow.
using Wide = unsigned __int128;
inline Wide Times(Wide a, Wide b) {
  if (((a | b) >> 64) == 0) return static_cast<Wide>(static_cast<uint64_t>(a)) * static_cast<uint64_t>(b);
  Wide product;
  if (__builtin_mul_overflow(a, b, &product)) throw CountOverflow();
  return product;
}
inline Wide Plus(Wide a, Wide b) {
  Wide sum;
  if (__builtin_add_overflow(a, b, &sum)) throw CountOverflow();
  return sum;
}
inline Natural Times(const Natural& a, const Natural& b) {
  return a * b;
}
inline Natural Plus(const Natural& a, const Natural& b) {
  return a + b;
}
inline std::pair<Wide, Wide> DivMod(Wide a, Wide b) {
  if (b == 1) return {a, 0};
  if ((a >> 64) == 0 && (b >> 64) == 0) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return {x / y, x % y};
  }
  return {a / b, a % b};
}
inline std::pair<Natural, Natural> DivMod(const Natural& a, const Natural& b) {
  auto [quotient, remainder] = Natural::Divide(a, b);
  return {quotient, remainder};
}

// Immutable once made; may be read from several threads.
template <typename Count>
class Elimination {
 public:
  // Throws TooLarge when a join has more than max_rows rows, and CountOverflow. `last`: the node to eliminate
  // last, where that is asked for.
  Elimination(const Network& network, size_t max_rows, int last = -1);

  const Count& total() const { return total_; }
  // By state of the node that was asked for: the solutions with it are those from `first` on.
  struct LastRow {
    int state;
    Count first, weight;
  };
  // REQUIRES: the node is connected with all others.
  std::vector<LastRow> LastRows() const;
  // The solution of this index, by variable. REQUIRES: index < total().
  void Unrank(Count index, std::vector<int64_t>* values) const;

 private:
  struct Field {
    int node, shift;
  };
  // How a node was summed out: rows grouped by the states of the neighbours that were left.
  struct Step {
    int node = 0;
    std::vector<Field> key;  // of the groups
    KeyIndex groups;
    std::vector<int> begin;     // by group: its first row
    std::vector<int> state;     // by row, of the node
    std::vector<Count> before;  // by row: solutions in the group's rows before it
    std::vector<Count> totals;  // by group
    std::vector<int> children;  // steps whose tables were used
  };
  struct Table {
    std::vector<Field> fields;
    const std::vector<uint64_t>* keys;
    const std::vector<Count>* weights = nullptr;  // null: all one
    int step = -1;                                // that made it
    bool used = false;
  };
  struct Joined {
    std::vector<uint64_t> keys;
    std::vector<Count> weights;
    uint64_t mask = 0;
  };

  class Run;
  int Group(const Step& step, const std::vector<int>& states) const;
  void Descend(int step, Count index, std::vector<int>* states, std::vector<int64_t>* values) const;

  std::vector<std::vector<Domain::Range>> cells_;
  std::vector<int> sizes_;
  std::vector<Step> steps_;
  std::vector<int> roots_;
  Count total_{};
};

extern template class Elimination<Wide>;
extern template class Elimination<Natural>;

}  // namespace tritogen::synth
