// Which of a kernel's tensors it may write: the memory of all others need not be saved around a launch.
#pragma once

#include <vector>

#include "tile/ir.h"

namespace tritogen {

// By parameter of the kernel: may a store, an atomic or a descriptor store reach it? Never misses one: where
// a pointer's origin is unclear (loaded from memory, behind a call, inline assembly) every parameter counts.
std::vector<bool> WrittenParameters(const tile::Module& module);

}  // namespace tritogen
