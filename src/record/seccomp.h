// The lists of system calls that children of a zygote may make. docs/threat_model.md says why each group is
// there.
#pragma once

#include "base/fd.h"

namespace tritogen {

enum class SeccompProfile {
  kRecord,   // somebody's Python: no processes, no programs
  kCompile,  // worker/compile.py: may start a program, too (which one is Landlock's business)
};

// A sealed memory file with the filter as classic BPF, ready for prctl(PR_SET_SECCOMP). Calls not on the list
// give EPERM.
UniqueFd MakeSeccompFilter(SeccompProfile profile);

}  // namespace tritogen
