// Order and dominance of the blocks of a function body (cf.br, cf.cond_br).
#pragma once

#include <vector>

#include "tile/ir.h"

namespace tritogen::tile {

// Sorts the blocks so that every branch goes forward, and drops those that nothing reaches; equal choices
// keep the order of the text. False when branches form a cycle (then the region is unchanged). The entry
// block stays first. REQUIRES: the successors are indices of blocks.
bool OrderBlocks(Region& body);

// Which block dominates which. REQUIRES: an ordered body whose blocks all end in a terminator.
class Dominance {
 public:
  explicit Dominance(const Region& body);
  // Every path to b passes a. A block dominates itself.
  bool Dominates(int a, int b) const { return first_[a] <= first_[b] && first_[b] < first_[a] + size_[a]; }

 private:
  void AddEdge(int from, int to);
  void NumberTree();

  std::vector<int> dominator_;     // immediate; -1 for the entry
  std::vector<int> first_, size_;  // a block and those it dominates have the numbers first … first + size - 1
};

}  // namespace tritogen::tile
