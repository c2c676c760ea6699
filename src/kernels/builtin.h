// Tritogen's own kernels (kernels/*.py): Triton like everybody's, compiled and launched the same way, their
// TTIR part of the program.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/table.h"
#include "plan/plan.h"

namespace tritogen {

// REQUIRES: kernels/emit.py makes one of this name. The reference stays valid.
const Kernel& BuiltinKernel(std::string_view name);

std::vector<Kernel> BuiltinKernels(KernelFamily family);

}  // namespace tritogen
