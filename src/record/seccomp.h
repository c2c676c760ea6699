// The list of system calls that a recorded program may make. docs/threat_model.md says why each group is
// there.
#pragma once

#include "base/fd.h"

namespace tritogen {

// A sealed memory file with the filter as classic BPF, ready for prctl(PR_SET_SECCOMP). Calls not on the list
// give EPERM.
UniqueFd MakeSeccompFilter();

}  // namespace tritogen
