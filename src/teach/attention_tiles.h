// Sizes of an attention kernel and of its blocks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "teach/kernel.h"

namespace tritogen::teach {

struct AttentionTiles {
  int64_t batch, m, n, k, d;  // queries, keys, numbers of a key, of a value
  int64_t block_m, block_n, block_k, block_d;
  bool half;  // what both products multiply
  // Batches whose programs take turns, so that those with most work begin first; 1: one batch after the
  // other.
  int64_t turns = 1;
  int num_warps, num_stages;
};

AttentionTiles TilesOf(const Graph& graph, const Prim& attention, const Prim& scores, const Group& group,
                       const KernelOptions& options);

// Names and values of the kernel's constants.
std::vector<std::pair<std::string, std::string>> ConstantsOf(const Prim& attention, const Group& group,
                                                             const AttentionTiles& tiles);

}  // namespace tritogen::teach
