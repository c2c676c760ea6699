// The pipeline: draw → teacher → judges → stages → shards.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "data/draw.h"
#include "data/options.h"
#include "data/set_folder.h"
#include "judge/judge_pool.h"
#include "propose/proposer.h"

namespace tritogen::data {

// What a run has done so far.
struct BuildState {
  int64_t programs = 0, answers = 0, records = 0;
  std::map<std::string, double> stages;  // seconds of all judges together, by what they were spent on
};

struct BuildRun {
  int64_t first_shard = 0,
          past_shard = 0;  // of the set's shards, this run builds these where they are missing
  int judges = 1;          // of the pool: it is kept busy
  bool on_gpu = false;
  std::function<void(const BuildState&)> progress = [](const BuildState&) {};
  std::function<bool()> stop = [] { return false; };  // asked often; true: leave what is not done
};

// Builds shards into the folder. What comes out depends on the options alone: not on the number of judges, on
// interruptions or on the order in which answers are judged. False when it was stopped. Throws UserError for
// impossible constraints, a full disk, and when judging fails for reasons of the machine's.
bool Build(const BuildOptions& options, const BuildRun& run, Proposer* teacher, JudgePool* pool,
           SetFolder* folder);

}  // namespace tritogen::data
