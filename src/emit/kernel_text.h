// What a candidate's own text may hold to stand in a file that runs outside of the jail. Everything else in a
// printed module Tritogen writes; the kernels are the candidate's, and so is what stands beside them: Python
// runs that on import, and Triton calls what a kernel's body names. A text can look where it is, so that
// nothing is learned from recording it. So it is kept to Triton's language, arithmetic, and what it defines
// itself.
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.h"

namespace tritogen {

// Why the kernels of a Plan may not be printed; empty: they may.
std::string RefusalOfKernels(const Plan& plan);

// The same of one text.
std::string RefusalOfText(std::string_view text);

// A name that the original program and the kernels define at the top level, each in its own way; empty: there
// is none. The original, which stands first, would find the kernels' when it is called for other shapes.
std::string ClashOf(std::string_view original, std::string_view kernels);

}  // namespace tritogen
