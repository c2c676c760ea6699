#include "tile/control_flow.h"

#include <functional>
#include <queue>
#include <utility>

namespace tritogen::tile {
namespace {

const std::vector<Successor>& SuccessorsOf(const Block& block) {
  static const std::vector<Successor> kNone;
  return block.operations.empty() ? kNone : block.operations.back().successors;
}

// Branches from reachable blocks into each block; -1: not reachable.
std::vector<int> CountBranches(const Region& body) {
  std::vector<int> branches(body.blocks.size(), -1);
  std::vector<int> open{0};
  branches[0] = 0;
  while (!open.empty()) {
    const int block = open.back();
    open.pop_back();
    for (const Successor& successor : SuccessorsOf(body.blocks[block])) {
      int& count = branches[successor.block];
      if (count < 0) {
        count = 0;
        open.push_back(successor.block);
      }
      ++count;
    }
  }
  return branches;
}

}  // namespace

bool OrderBlocks(Region& body) {
  std::vector<int> branches = CountBranches(body);
  if (branches[0] > 0) return false;
  std::vector<int> place(body.blocks.size(), -1);
  std::vector<int> order;
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  ready.push(0);
  while (!ready.empty()) {
    const int block = ready.top();
    ready.pop();
    place[block] = static_cast<int>(order.size());
    order.push_back(block);
    for (const Successor& successor : SuccessorsOf(body.blocks[block])) {
      if (--branches[successor.block] == 0) ready.push(successor.block);
    }
  }
  for (int left : branches) {
    if (left > 0) return false;  // waits for a block that waits for it
  }
  std::vector<Block> blocks;
  blocks.reserve(order.size());
  for (int block : order) blocks.push_back(std::move(body.blocks[block]));
  for (Block& block : blocks) {
    if (block.operations.empty()) continue;
    for (Successor& successor : block.operations.back().successors) successor.block = place[successor.block];
  }
  body.blocks = std::move(blocks);
  return true;
}

Dominance::Dominance(const Region& body) : dominator_(body.blocks.size(), -1) {
  for (size_t from = 0; from < body.blocks.size(); ++from) {
    for (const Successor& successor : SuccessorsOf(body.blocks[from])) {
      AddEdge(static_cast<int>(from), successor.block);
    }
  }
  NumberTree();
}

// The nearest common dominator of what was known and the new predecessor, whose own dominators are final.
void Dominance::AddEdge(int from, int to) {
  int& dominator = dominator_[to];
  if (dominator < 0) dominator = from;
  while (dominator != from) {
    int& later = dominator > from ? dominator : from;
    later = dominator_[later];
  }
}

void Dominance::NumberTree() {
  const size_t count = dominator_.size();
  size_.assign(count, 1);
  first_.assign(count, 0);
  for (size_t i = count; i-- > 1;) size_[dominator_[i]] += size_[i];
  std::vector<int> next(count, 1);  // next free number below each block
  for (size_t i = 1; i < count; ++i) {
    first_[i] = next[dominator_[i]];
    next[dominator_[i]] += size_[i];
    next[i] = first_[i] + 1;
  }
}

}  // namespace tritogen::tile
