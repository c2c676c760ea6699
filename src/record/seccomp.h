// The lists of system calls that children of a zygote, and judges, may make. docs/threat_model.md says why
// each group is there.
#pragma once

#include "base/fd.h"

namespace tritogen {

enum class SeccompProfile {
  kRecord,   // somebody's Python: no processes, no programs
  kCompile,  // worker/compile.py: may start a program, too (which one is Landlock's business)
  kJudge,    // replays a stranger's Plan on the CPU: has threads, asks the workers, opens files to read them
  kJudgeWithCache,  // … and keeps compiled kernels in files (where they lie is Landlock's business)
  kGpuJudge,        // a list of what is forbidden: nobody knows what all a GPU's driver calls
};

// A sealed memory file with the filter as classic BPF, ready for prctl(PR_SET_SECCOMP). Calls not on the list
// give EPERM. A judge may send signals to itself: to the process that made its filter.
UniqueFd MakeSeccompFilter(SeccompProfile profile);

// Installs it in all threads of this process. False where the kernel refuses. REQUIRES: no new privileges.
bool EnforceSeccompFilter(const UniqueFd& filter);

}  // namespace tritogen
