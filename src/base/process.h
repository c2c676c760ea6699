// Runs one short-lived trusted program to its end. (Jailed programs: src/record/jail.h.)
#pragma once

#include <string>
#include <vector>

namespace tritogen {

struct ProcessOptions {
  double wall_seconds = 60;                   // then it is killed, in its own group with its children
  bool in_own_group = false;                  // Ctrl-C is for the caller alone
  size_t max_output_bytes = size_t{1} << 20;  // of each stream; the rest is read and dropped
};

struct ProcessResult {
  int exit_code = -1;  // -1: ended by a signal or by the wall-clock limit
  int signal = 0;      // that ended it, 0 none
  bool timed_out = false;
  std::string output, error;  // stdout and stderr
  bool ok() const { return exit_code == 0; }
};

// argv[0] is looked up in PATH; stdin is empty; the environment is passed on. Throws UserError when the
// program cannot be started. Thread-safe.
ProcessResult RunProcess(const std::vector<std::string>& argv, const ProcessOptions& options = {});

// "exit status 3", "signal 11 (Segmentation fault)": for messages.
std::string DescribeWaitStatus(int status);

}  // namespace tritogen
