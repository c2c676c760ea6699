// Loops over time steps that a program has written out, step by step: cells become recurrent layers, which
// have kernels of their own, and what is done to each step's state by the same weights is done to all at
// once.
#pragma once

#include "teach/program_edit.h"

namespace tritogen::teach {

// False where there is no such loop.
bool RollLoops(ProgramEdit& edit);

}  // namespace tritogen::teach
