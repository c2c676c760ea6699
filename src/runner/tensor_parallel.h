// One model on several GPUs of a machine: a process for each, all with a GpuRunner over their part of the
// weights. This process is rank 0 and has the engine. It sends each batch to the others; then all make the
// same step, in which they sum their results. As these sums are equal on all ranks bit for bit, so are the
// logits, and each rank draws the same tokens by itself; the tokens of every step are compared.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cuda/compiler.h"
#include "model/part.h"
#include "runner/gpu_runner.h"
#include "runner/open_runner.h"

namespace tritogen {

// Where the tile machine stands for GPUs, a rank's keys and values have so much unless somebody says more.
inline constexpr int64_t kCacheBytesOnCpus = int64_t{256} << 20;

struct TensorParallelOptions {
  RankOptions ranks;  // rank r has GPU r
  bool cuda = true;   // false: on CPUs, where the tile machine runs the kernels: for tests
  cuda::CompilerOptions compiler;
  GpuRunnerOptions runner;
  // Called in each process, with its GPU open.
  std::function<DecoderWeights(const ModelPart&, at::Device)> load;
  std::function<void(const ModelPart&, DecoderWeights*)> reload;  // new weights; may be missing
  // Another rank is lost, and says why. Called on a thread of its own while the engine's thread may wait for
  // a GPU that will never answer: it should end the process.
  OnRankLost on_lost;
};

// REQUIRES: this process has no other threads and has not touched a GPU; the model divides (CheckDivides).
// Throws UserError when there are too few GPUs, for a combination of options that there is not, and what
// `load` throws on any rank.
std::unique_ptr<Runner> MakeTensorParallelRunner(const TensorParallelOptions& options);

}  // namespace tritogen
