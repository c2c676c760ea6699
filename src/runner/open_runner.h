// From a model folder to the runner of a device. Free of torch.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "cuda/compiler.h"
#include "engine/runner.h"
#include "runner/opening.h"

namespace tritogen {

// Several GPUs share the model, each with a process (runner/tensor_parallel.h). On "cpu" the tile machine
// stands for each of them.
struct RankOptions {
  int size = 1;
  double timeout_seconds = 30;  // of a step, from its start or from the end of the one before
};

struct RunnerOptions {
  std::string device = "auto";  // "cpu", "cuda"; auto: cuda where there is one
  std::string dtype = "auto";  // "float32", "bfloat16", "float16", on CPUs "int8" (weights); auto: the files'
  int32_t context = 0;         // positions of one sequence at most; 0: the model's
  int32_t slots = 0;           // sequences at once; 0: the runner's choice
  double cache_gib = 0;        // for keys and values; 0: the runner's choice
  bool batch_invariant = false;    // GPUs: a sequence's numbers do not depend on the batch it is in
  bool graphs = true;              // GPUs: decode steps are CUDA graphs
  cuda::CompilerOptions compiler;  // of a GPU's kernels
  RankOptions ranks;
  OnRankLost on_lost;    // should end the process
  OnOpening on_opening;  // may be missing
};

struct OpenedRunner {
  std::unique_ptr<Runner> runner;
  bool overlaps = false;  // computes beside the host, so that planning ahead saves time
};

// Opens the GPU when it is wanted or, with auto, there. REQUIRES: with several ranks, that this process has
// no other threads. Throws UserError for a folder that cannot be used,
// and for a device that is not there.
OpenedRunner OpenRunner(const std::filesystem::path& folder, const RunnerOptions& options);

}  // namespace tritogen
