// Whether a tensor descriptor can read a product's factor, tile by tile.
#pragma once

#include <optional>

#include "teach/partition.h"

namespace tritogen::teach {

// The factor lies in memory as whole matrices below each other: one for each batch, or one for all.
struct FactorDescriptor {
  int64_t rows, columns;  // of all of it in memory
  bool turned;            // its rows run along k although they are columns of the second factor
  bool by_batch;          // batch b's matrix begins at row b · (rows / batches)
};

// Of operand `operand` of the group's product, whose tiles have `block_k` along k. Nothing where the argument
// has to stay a pointer because something else reads it, too, and where rows do not start at multiples of 16
// bytes.
std::optional<FactorDescriptor> DescribeFactor(const Graph& graph, const Group& group, size_t operand,
                                               int64_t block_k);

}  // namespace tritogen::teach
