// A Runner on a GPU: Tritogen's kernels, cuBLAS, and a CUDA graph for each size of a decode batch.
#pragma once

#include <memory>

#include "engine/runner.h"
#include "model/decoder.h"
#include "ranks/ranks.h"
#include "runner/opening.h"

namespace tritogen {

// Whether blocks that rows have in common are read once for all of them (prefix_sharing.h).
enum class SharePrefixes : uint8_t { kNever, kWhereItPays, kAlways };

struct GpuRunnerOptions {
  int32_t slots = 256;            // sequences at once
  int32_t prefill_tokens = 8192;  // in a step
  int32_t context = 0;            // positions of a sequence; 0: the model's
  int64_t cache_bytes = 0;        // of keys and values; 0: by memory_share
  double memory_share = 0.9;      // of the device's free memory, when the runner is made
  bool batch_invariant = false;   // a sequence's numbers do not depend on the batch it is in
  bool graphs = true;
  SharePrefixes share_prefixes = SharePrefixes::kWhereItPays;
  int32_t fused_rows = 96;  // DecoderPass: PassOptions
  OnOpening on_opening;     // may be missing
};

// The weights lie on the device of Gpu::Current(), or on the CPU, where the tile machine runs the kernels
// (for tests; cache_bytes must be given). `ranks`: the weights are one rank's part (model/part.h); each rank
// makes such a runner with the same options and then the same calls, gets the same samples, and has as many
// blocks as the one with the least memory. Throws UserError when weights, or one sequence of the context, do
// not fit.
std::unique_ptr<Runner> MakeGpuRunner(std::shared_ptr<const DecoderWeights> weights,
                                      const GpuRunnerOptions& options,
                                      std::shared_ptr<Ranks> ranks = nullptr);

}  // namespace tritogen
