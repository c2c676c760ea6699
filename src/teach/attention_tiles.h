// Sizes of an attention kernel and of its blocks.
#pragma once

#include "teach/kernel.h"

namespace tritogen::teach {

struct AttentionTiles {
  int64_t batch, m, n, k, d;  // queries, keys, numbers of a key, of a value
  int64_t block_m, block_n, block_k, block_d;
  int num_warps, num_stages;
};

AttentionTiles TilesOf(const Prim& attention, const Prim& scores, const Group& group,
                       const KernelOptions& options);

}  // namespace tritogen::teach
