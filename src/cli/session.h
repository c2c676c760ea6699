// What commands that run programs share: their common options and the recorder.
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cuda/compiler.h"
#include "cuda/target.h"
#include "judge/judge.h"
#include "judge/verdict_cache.h"
#include "record/recorder.h"
#include "verify/verifier.h"

namespace tritogen {

class JudgePool;

struct FoundGpu {
  std::string name;  // and its driver's version
  cuda::Target target;
  std::vector<std::string> uuids;  // of those that judge, all of this name
};

struct CommonOptions {
  bool strict = false, hybrid = false;
  Fp32Precision fp32_precision = Fp32Precision::kIeee;
  std::string device = "auto";
  std::optional<uint64_t> seed;
  double budget_seconds = 120;
  bool json = false;
  std::string html;  // where the report page goes; empty: none is written
  bool allow_weak_jail = false;
  bool no_compile = false;  // torch.compile is not among the baselines
  bool no_cache = false;

  int gpus = 1;               // that judge
  int timing_samples = 0;     // 0: the command's own choice
  double timing_seconds = 0;  // likewise
  bool against_itself = false;

  void AddTo(CLI::App* app);
  // The GPUs that candidates run on; nothing: they run on the tile machine. Throws UserError when more are
  // asked for than there are of the first one's kind. Starts a process to see, before
  // threads are started.
  std::optional<FoundGpu> FindGpu() const;
  // Options of one verification; draws the seed when none was given. `in_batch`: many small measurements
  // rather than a few long ones.
  VerifyOptions Verification(bool on_gpu, int threads, bool in_batch = false) const;
};

// --fp32-precision.
void AddFp32Precision(CLI::App* app, Fp32Precision* precision);
// --gpus.
void AddGpus(CLI::App* app, int* gpus);

// --allow-weak-jail.
void AddWeakJail(CLI::App* app, bool* allow_weak_jail);

// What judges share, made before the judges are started. The recorder may still be at it (Recorder::Require).
struct Workers {
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<cuda::KernelCompiler> compiler;
  std::optional<GpuTarget> gpu;              // nothing: nothing runs on a GPU
  std::optional<VerdictCacheOptions> cache;  // nothing: every candidate is judged
};
// For so many judges. Says on stderr where verdicts cannot be kept.
Workers StartWorkers(const Environment& environment, const CommonOptions& options,
                     const std::optional<FoundGpu>& gpu, int judges = 1);
// Waits for them, while the pool's judges get ready on the GPU. Throws what Recorder::Require throws.
void AwaitWorkers(const Workers& workers, JudgePool* pool);

// Where what later runs can use again is kept.
std::filesystem::path CacheFolder();

}  // namespace tritogen
