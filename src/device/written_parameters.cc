#include "device/written_parameters.h"

#include <algorithm>

namespace tritogen {
namespace {

using tile::OpCode;

bool Writes(OpCode code) {
  switch (code) {
    case OpCode::kStore:
    case OpCode::kAtomicRmw:
    case OpCode::kAtomicCas:
    case OpCode::kDescStore:
    case OpCode::kDescReduce:
    case OpCode::kDescScatter:
      return true;
    default:
      return false;
  }
}

// Pointers of unclear origin come from these.
bool HidesPointers(OpCode code) {
  return code == OpCode::kCall || code == OpCode::kIntToPtr || code == OpCode::kInlineAsm;
}

// For each value, the parameters that a pointer or descriptor in it may come from. Order and paths of control
// do not count: what an operation, its regions and its successors hand on is joined, until nothing changes.
class Origins {
 public:
  explicit Origins(const tile::Function& kernel) : kernel_(kernel), origins_(kernel.values.size()) {
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
      origins_[kernel.parameters[i]].assign(kernel.parameters.size(), false);
      origins_[kernel.parameters[i]][i] = true;
    }
  }

  std::vector<bool> Written() {
    do {
      changed_ = false;
      Visit(kernel_.body, nullptr);
    } while (changed_ && !hidden_);
    return hidden_ ? std::vector<bool>(kernel_.parameters.size(), true) : Stores(kernel_.body);
  }

 private:
  bool Carries(tile::ValueId value) const {
    tile::Elem elem = kernel_.values[value].elem;
    return elem == tile::Elem::kPtr || elem == tile::Elem::kDesc;
  }

  void Join(tile::ValueId to, tile::ValueId from) {
    if (!Carries(to) || !Carries(from) || origins_[from].empty()) return;
    origins_[to].resize(kernel_.parameters.size(), false);
    for (size_t i = 0; i < origins_[from].size(); ++i) {
      if (origins_[from][i] && !origins_[to][i]) origins_[to][i] = changed_ = true;
    }
  }

  void JoinAll(const std::vector<tile::ValueId>& to, const std::vector<tile::ValueId>& from) {
    for (tile::ValueId t : to) {
      for (tile::ValueId f : from) Join(t, f);
    }
  }

  void Visit(const tile::Region& region, const tile::Operation* parent) {
    for (const tile::Block& block : region.blocks) {
      if (parent) JoinAll(block.arguments, parent->operands);
      for (const tile::Operation& op : block.operations) Visit(op, region, parent);
    }
  }

  void Visit(const tile::Operation& op, const tile::Region& region, const tile::Operation* parent) {
    hidden_ |= HidesPointers(op.code);
    // A pointer that was itself in memory.
    if (op.code == OpCode::kLoad)
      hidden_ |= std::any_of(op.results.begin(), op.results.end(), [&](auto r) { return Carries(r); });
    JoinAll(op.results, op.operands);
    for (const tile::Successor& successor : op.successors) {
      JoinAll(region.blocks[successor.block].arguments, successor.arguments);
    }
    for (const tile::Region& inner : op.regions) Visit(inner, &op);
    if (!parent || (op.code != OpCode::kYield && op.code != OpCode::kCondition)) return;
    JoinAll(parent->results, op.operands);
    for (const tile::Region& sibling : parent->regions) {
      if (!sibling.blocks.empty()) JoinAll(sibling.blocks[0].arguments, op.operands);
    }
  }

  std::vector<bool> Stores(const tile::Region& region) const {
    std::vector<bool> written(kernel_.parameters.size(), false);
    auto add = [&](const std::vector<bool>& more) {
      for (size_t i = 0; i < more.size(); ++i) written[i] = written[i] || more[i];
    };
    for (const tile::Block& block : region.blocks) {
      for (const tile::Operation& op : block.operations) {
        if (Writes(op.code)) add(origins_[op.operands[0]]);
        for (const tile::Region& inner : op.regions) add(Stores(inner));
      }
    }
    return written;
  }

  const tile::Function& kernel_;
  std::vector<std::vector<bool>> origins_;  // by value; empty: none
  bool changed_ = false;
  bool hidden_ = false;  // some pointer's origin is unclear
};

}  // namespace

std::vector<bool> WrittenParameters(const tile::Module& module) {
  return Origins(module.kernel()).Written();
}

}  // namespace tritogen
