// What a judge gives up before it replays anything: a Plan that finds a hole in PyTorch has all of the
// judge's memory, and should gain no more by it than a wrong verdict about its own candidate.
// docs/threat_model.md, "A judge's jail". What the kernel refuses is gone without; `doctor` names it.
#pragma once

#include <filesystem>
#include <vector>

#include "base/held_locks.h"

namespace tritogen {

// What judges use of what their caller has.
struct JudgeNeeds {
  std::vector<int> fds;
  std::vector<std::filesystem::path> folders;  // to keep files in
  HeldLocks held;                              // of who else uses `fds` until the fork
};

// In order, each in the judge's own process, which has one thread until the first two are done.

// Standard input and output become /dev/null; but for standard error, these and `channel` all else is closed.
void CloseOthers(const JudgeNeeds& needs, int channel);
// Files: on the CPU what libraries and the system are read from, on a GPU all; written to are devices of a
// GPU and the folders.
void RestrictJudgesFiles(const JudgeNeeds& needs, bool on_gpu);
// Programs, other processes, the network, and more: behind the start, which may need them.
void RestrictJudgesCalls(const JudgeNeeds& needs, bool on_gpu);

}  // namespace tritogen
