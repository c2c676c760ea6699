// The GPU of a process that runs a model.
#pragma once

#include "cuda/compiler.h"

namespace tritogen {

// Opens a GPU with a compiler that lives as long as the process. Call it once, before threads are
// started. Throws UserError when there is none.
void OpenGpu(cuda::CompilerOptions options, int ordinal = 0);

}  // namespace tritogen
