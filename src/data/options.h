// What a data set is made of: the configuration of `data build`. docs/data.md explains every key.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/fields.h"
#include "data/stage.h"
#include "synth/sampler.h"

namespace tritogen::data {

// How many programs of one level, and of which operators.
struct LevelOptions {
  int level = 1;
  int64_t programs = 0;
  std::string operators = "all";
  std::string sizes;  // empty: ProgramOptions::sizes
};

struct ProgramOptions {
  std::string sizes = "common", image_sizes;  // image_sizes empty: as sizes
  int64_t max_elements = 16384, max_bytes = int64_t{1} << 20, max_flops = int64_t{1} << 24;
  int64_t max_rank = 4, per_graph = 2, sizes_per_graph = 0;
  double fan_out = 0.2, broadcast = 0.25, as_modules = 0;
  std::string held_out;            // operators and pairs that do not come: "relu,matmul>tanh"
  std::vector<std::string> avoid;  // files of fingerprints that do not come: test suites
  double test_share = 0.05;
  std::string split_by = "graph";  // "graph": programs that differ in sizes only are on one side; "sizes"
};

struct TeacherOptions {
  std::string name = "teacher";
  int answers = 4;  // for one program, at most
  bool strict = true;
  bool simple = false;  // more of a kernel for each operation, less of fused ones
  double lines = 0;     // share of programs with plans that go through the program line by line first
  bool plain = false;   // one handwriting; else names, comments and the wrapper's layout vary
};

// What `eval` draws beside a set's own programs; no part of what the set is.
struct EvalOptions {
  std::string shapes;  // sizes that the set does not have
};

struct BuildOptions {
  uint64_t seed = 1;
  std::string out;  // folder; no part of what the set is
  int64_t shard_programs = 256;
  double budget_seconds = 60;  // for the verification of one answer
  ProgramOptions programs;
  std::vector<LevelOptions> levels;
  TeacherOptions teacher;
  std::vector<std::unique_ptr<Stage>> stages;
  EvalOptions eval;

  int64_t total_programs() const;
  int64_t shards() const;
};

int64_t TotalPrograms(const std::vector<LevelOptions>& levels);

void Describe(config::Fields* fields, BuildOptions* options);

// Of a TOML file. Throws UserError for what is wrong in it, operators and sets of sizes among that.
BuildOptions ReadBuildOptions(std::string_view text, const std::string& file);

// What decides the contents of a set, as JSON with every default; equal exactly for equal sets.
nlohmann::ordered_json Identity(BuildOptions* options);

}  // namespace tritogen::data
