// Products with diagonal matrices, which are rows or columns times a number each.
#pragma once

#include "teach/program_edit.h"

namespace tritogen::teach {

// Puts multiplications by the diagonal in the place of such products. False where there is none.
bool MultiplyByDiagonals(ProgramEdit& edit);

}  // namespace tritogen::teach
