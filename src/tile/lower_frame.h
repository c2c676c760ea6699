// Internal to lowering: one expanded function.
#pragma once

#include "tile/lower.h"

namespace tritogen::tile {

struct Lowering::Frame {
  std::vector<Operand> values;   // by ValueId
  std::vector<Operand> results;  // where tt.return puts its operands
  int return_label = -1;
  std::vector<int> block_labels;  // of the body
  std::vector<std::vector<Operand>> block_arguments;
  const std::vector<bool>* uniform = nullptr;
};

}  // namespace tritogen::tile
