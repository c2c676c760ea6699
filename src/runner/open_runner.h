// From a model folder to the runner of a device. Free of torch.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "engine/runner.h"

namespace tritogen {

struct RunnerOptions {
  std::string device = "auto";  // "cpu", "cuda"; auto: cuda where there is one
  std::string dtype = "auto";  // "float32", "bfloat16", "float16", on CPUs "int8" (weights); auto: the files'
  int32_t context = 0;         // positions of one sequence at most; 0: the model's
  int32_t slots = 0;           // sequences at once; 0: the runner's choice
  double cache_gib = 0;        // for keys and values; 0: the runner's choice
};

struct OpenedRunner {
  std::unique_ptr<Runner> runner;
  bool overlaps = false;  // computes beside the host, so that planning ahead saves time
};

// Throws UserError for a folder that cannot be used, and for a device that is not there.
OpenedRunner OpenRunner(const std::filesystem::path& folder, const RunnerOptions& options);

}  // namespace tritogen
