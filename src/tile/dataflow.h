// Walking over the operations of a function for what can be known of its values before it runs.
#pragma once

#include <vector>

#include "tile/ir.h"
#include "tile/op_traits.h"

namespace tritogen::tile {

inline constexpr int kMaxPasses = 100;  // of a fixed point; text that needs more was made to need more

// But for the regions of reductions, scans and maps, in which all is scalar.
template <class Visit>
void ForEachOperation(const Region& region, Visit&& visit) {
  for (const Block& block : region.blocks) {
    for (const Operation& op : block.operations) {
      visit(op);
      if (IsGenericForm(op.code)) continue;
      for (const Region& inner : op.regions) ForEachOperation(inner, visit);
    }
  }
}

// flow(from, to) for each value that control flow hands on at `op`; false where it is no control flow.
template <class Flow>
bool FlowThroughControl(const Function& function, const Operation& op, Flow&& flow) {
  const auto all = [&](const std::vector<ValueId>& from, size_t skip, const std::vector<ValueId>& to,
                       size_t skip_to = 0) {
    for (size_t i = skip_to; i < to.size(); ++i) flow(from[i - skip_to + skip], to[i]);
  };
  const auto last = [](const Region& region) -> const std::vector<ValueId>& {
    return region.blocks[0].operations.back().operands;
  };
  switch (op.code) {
    case OpCode::kFor: {
      const Block& body = op.regions[0].blocks[0];
      all(op.operands, 3, body.arguments, 1);
      all(last(op.regions[0]), 0, body.arguments, 1);
      for (size_t i = 0; i < op.results.size(); ++i) flow(body.arguments[i + 1], op.results[i]);
      return true;
    }
    case OpCode::kIf:
      for (const Region& region : op.regions) {
        if (!region.blocks.empty()) all(last(region), 0, op.results);
      }
      return true;
    case OpCode::kWhile: {
      const Block &before = op.regions[0].blocks[0], &after = op.regions[1].blocks[0];
      all(op.operands, 0, before.arguments);
      all(last(op.regions[1]), 0, before.arguments);
      all(last(op.regions[0]), 1, after.arguments);
      all(last(op.regions[0]), 1, op.results);
      return true;
    }
    case OpCode::kBr:
    case OpCode::kCondBr:
      for (const Successor& successor : op.successors) {
        all(successor.arguments, 0, function.body.blocks[successor.block].arguments);
      }
      return true;
    default:
      return false;
  }
}

}  // namespace tritogen::tile
