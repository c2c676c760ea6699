// Padding by what stands at the other end, which PyTorch writes slice by slice into new memory (F.pad with
// mode="circular", convolutions with padding_mode="circular"): one selection for each dimension.
#pragma once

#include "teach/program_edit.h"

namespace tritogen::teach {

// False where there is none.
bool SelectCircularly(ProgramEdit& edit);

}  // namespace tritogen::teach
