// The runner for CPUs: all cores, weights read in place or as int8, its own kernels.
#pragma once

#include <memory>
#include <optional>

#include "engine/runner.h"
#include "model/decoder.h"
#include "runner/cpu/kernels.h"

namespace tritogen {

struct CpuRunnerOptions {
  int threads = 0;            // 0: one per core
  bool int8_weights = false;  // with a scale for each row; a copy is made, the weights stay as they are
  // For keys and values; 0: what `slots` sequences need, half of free memory at most.
  int64_t cache_bytes = 0;
  int32_t context = 0;  // positions of a sequence at most; 0: what the model can
  int32_t slots = 64;
  int32_t prefill_tokens = 1024, decode_rows = 256;  // in a step
  std::optional<cpu::Level> level;                   // the best there is; for tests
  bool twins = true;                                 // rows of equal texts are computed once; for tests
};

// Steps are computed where they are submitted. A cache that holds less than a context makes the context
// shorter. Throws UserError when it holds not even one block's positions, or options are out of range.
// REQUIRES: weights on the CPU.
std::unique_ptr<Runner> MakeCpuRunner(std::shared_ptr<const DecoderWeights> weights,
                                      const CpuRunnerOptions& options);

}  // namespace tritogen
