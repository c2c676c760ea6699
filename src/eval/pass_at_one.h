// pass@1 of a model while it is trained: the program evaluates the folder in a process of its own, which may
// fork judges and open a GPU whatever the trainer's process has threads and contexts for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tritogen::eval {

struct PassAtOneOptions {
  std::filesystem::path program = "/proc/self/exe";
  std::string config;  // of the data set, whose test side is asked; empty: configs/data.toml
  std::vector<int> levels = {1, 2, 3};
  std::string device = "auto";  // where the model runs; answers run on the tile machine
  double cache_gib = 1;         // of keys and values, beside the trainer's memory
  int judges = 0;               // 0: one per core
  uint64_t seed = 1;            // the same programs and the same sampling each time
  double temperature = 0;       // one answer each, the most probable
  double wall_seconds = 1800;
};

struct PassAtOneResult {
  int64_t programs = 0, passed = 0;
  std::map<std::string, int64_t> outcomes;  // "passed", "no_answer: no_code" → answers
  double seconds = 0;
};

// Thread-safe; blocks. `programs`: altogether, shared by the levels. Throws UserError with what the program
// said where it failed.
PassAtOneResult PassAtOne(const std::filesystem::path& model, int64_t programs,
                          const PassAtOneOptions& options);

}  // namespace tritogen::eval
