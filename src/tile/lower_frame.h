// Internal to lowering: one expanded function, or a region with branches in it.
#pragma once

#include "tile/lower.h"

namespace tritogen::tile {

struct Lowering::Frame {
  std::vector<Operand> values;  // by ValueId
  // Of the body, or of the region that is being lowered.
  struct Blocks {
    std::vector<Operand> results;  // where a return puts its operands
    int return_label = -1;
    std::vector<int> labels;
    std::vector<std::vector<Operand>> arguments;
  };
  Blocks blocks;
  const std::vector<bool>* uniform = nullptr;
  const HintedAccesses* hinted = nullptr;
};

}  // namespace tritogen::tile
