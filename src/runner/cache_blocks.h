// The memory of a paged cache on a device: keys and values of all layers, block by block.
#pragma once

#include <vector>

#include "model/decoder.h"
#include "ranks/ranks.h"
#include "runner/decoder_pass.h"
#include "runner/gpu_runner.h"

namespace tritogen {

// How many blocks a runner has, of which all ranks have the least of them: what `options.cache_bytes` holds,
// or its share of the memory that is free, at most what all slots can fill. Throws UserError where one
// sequence of limits.context positions does not fit.
int64_t BlocksFor(const DecoderWeights& weights, const GpuRunnerOptions& options, const RunnerLimits& limits,
                  Ranks* ranks);

class CacheBlocks {
 public:
  // So many blocks of zeros, and one more for padding. Throws c10::OutOfMemoryError.
  CacheBlocks(const DecoderWeights& weights, int64_t blocks);
  const PagedCache& pages() const { return pages_; }
  // All are read before one is written.
  void Copy(const std::vector<BlockCopy>& copies);

 private:
  at::Tensor storage_;  // [2 · layers, blocks + 1, kv_heads, kCacheBlock, head_dim]
  PagedCache pages_;    // views of it
};

}  // namespace tritogen
