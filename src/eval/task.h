// What is evaluated: programs of a suite, each with its reference file.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/options.h"
#include "judge/judge.h"
#include "program/program.h"

namespace tritogen::eval {

struct Task {
  std::string id;     // "held-out/3/17", unlike all others of the suite
  std::string group;  // what results are told apart by: "level 3"
  std::vector<std::string> ops;
  std::string fingerprint, graph_fingerprint;  // of synthetic programs
  std::string split;                           // "train", "test"; empty: nobody said
  SourceFile reference;
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Plan> plan;  // where the reference was recorded
};

enum class Split {
  kHeldOut,  // the side of all programs, told apart by the fingerprints of their graphs, that no set trains
             // on
  kTrain,    // the other side
  kPairs,    // programs with a held-out operator or pair of operators
  kShapes    // any program, in sizes that training never has
};
// Null where there is no such split.
const Split* SplitNamed(std::string_view name);
std::vector<std::string> SplitNames();

struct SynthSuite {
  Split split = Split::kHeldOut;
  std::vector<int> levels;
  int64_t count = 100;  // programs of each level
  uint64_t seed = 1;    // a set's own: with the set's split and levels its own programs
  std::string sizes;    // of kShapes, instead of the configuration's
};

// Draws a suite as a data set with these options draws its programs: operators of its first level, limits,
// what is held out or to be avoided. `progress` is told how many there are; true from `stop` ends it early.
// Deterministic. Throws UserError for what cannot be drawn.
std::vector<Task> DrawTasks(const data::BuildOptions& options, const SynthSuite& suite,
                            const std::function<void(int64_t)>& progress, const std::function<bool()>& stop);

// Tasks of a JSONL file: {"reference": source of a PyTorch file, "program"?: its canonical text, "id"?,
// "group"?, "level"?, "reference_entry"?}, which records of data sets are. Without a program the reference is
// to be recorded (`program` is null). Throws UserError naming the line that is none.
std::vector<Task> ReadTasks(std::string_view text, const std::string& file);

}  // namespace tritogen::eval
