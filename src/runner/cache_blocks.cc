#include "runner/cache_blocks.h"

#include <ATen/ATen.h>
#include <ATen/DeviceAccelerator.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/rounding.h"

namespace tritogen {
namespace {

constexpr int64_t kSmallestCache = 2;  // blocks

int64_t BlockBytes(const DecoderWeights& weights) {
  const ModelConfig& c = weights.config;
  return 2 * c.layers * c.kv_heads * kCacheBlock * c.head_dim *
         static_cast<int64_t>(weights.embedding.element_size());
}

int64_t BytesFor(const at::Device& device, const GpuRunnerOptions& options) {
  if (options.cache_bytes > 0) return options.cache_bytes;
  TRITOGEN_CHECK(device.is_cuda());
  const auto free = static_cast<double>(at::accelerator::getMemoryInfo(device.index()).first);
  return static_cast<int64_t>(free * options.memory_share);
}

}  // namespace

int64_t BlocksFor(const DecoderWeights& weights, const GpuRunnerOptions& options, const RunnerLimits& limits,
                  Ranks* ranks) {
  const at::Device device = weights.embedding.device();
  const int64_t bytes = BytesFor(device, options), block_bytes = BlockBytes(weights);
  const int64_t width = CeilDiv(limits.context, kCacheBlock);  // of one sequence
  int64_t blocks = std::min<int64_t>(bytes / block_bytes - 1, width * limits.slots);
  if (ranks != nullptr) blocks = LeastOfRanks(ranks, blocks, device);
  if (blocks < std::max(kSmallestCache, width)) {
    throw UserError(
        fmt::format("keys and values of one sequence of {} positions take {} MiB, and {} MiB are there for "
                    "the cache: ask for a smaller context",
                    limits.context, width * block_bytes >> 20, bytes >> 20));
  }
  return blocks;
}

CacheBlocks::CacheBlocks(const DecoderWeights& weights, int64_t blocks) {
  const ModelConfig& c = weights.config;
  storage_ =
      at::zeros({2 * c.layers, blocks + 1, c.kv_heads, kCacheBlock, c.head_dim}, weights.embedding.options());
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    pages_.keys.push_back(storage_.select(0, 2 * layer));
    pages_.values.push_back(storage_.select(0, 2 * layer + 1));
  }
}

void CacheBlocks::Copy(const std::vector<BlockCopy>& copies) {
  if (copies.empty()) return;
  std::vector<int64_t> from, to;
  for (const BlockCopy& copy : copies) {
    from.push_back(copy.from);
    to.push_back(copy.to);
  }
  const auto on_device = [&](const std::vector<int64_t>& v) { return at::tensor(v).to(storage_.device()); };
  storage_.index_copy_(1, on_device(to), storage_.index_select(1, on_device(from)));
}

}  // namespace tritogen
