// What the first candidates of a batch would pay for all others.
#pragma once

#include "device/gpu.h"

namespace tritogen {

// Takes memory that later allocations are cut from, and has the driver load kernels of libtorch, cuBLAS and
// Tritogen that most tasks need: each is loaded when it is first launched, which takes up to 0.1 s. REQUIRES:
// a turn.
void WarmUp(Gpu* gpu);

}  // namespace tritogen
