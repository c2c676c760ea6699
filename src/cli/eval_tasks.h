// The tasks of an evaluation: drawn, or recorded from files.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "eval/task.h"
#include "record/recorder.h"

namespace tritogen {

struct SuiteOptions {
  std::string suite = "synth";     // "synth", "kernelbench", a JSONL file
  std::vector<std::string> files;  // of kernelbench: files and folders of tasks
  std::string config;              // empty: configs/data.toml of the checkout
  std::string split = "held-out", sizes;
  std::vector<int> levels = {1, 2, 3};
  std::optional<int64_t> count;  // of each level; of other suites: at most. None: 100, and all
  uint64_t seed = 1;

  void AddTo(CLI::App* app);
  // What decides which tasks there are.
  nlohmann::ordered_json ToJson() const;
};

// Throws UserError where options do not go together. Does not start anything.
void CheckSuite(const SuiteOptions& options);

// Programs of synthesis. Empty after Ctrl-C.
std::vector<eval::Task> DrawSuite(const SuiteOptions& options, const Environment& environment);

// Tasks of files, each recorded where its program is not known; for `strict` mode in operators of the
// catalogue, where that can be. A file that is no task is a remark.
std::vector<eval::Task> RecordSuite(const SuiteOptions& options, bool strict, Recorder* recorder,
                                    std::vector<std::string>* remarks);

}  // namespace tritogen
