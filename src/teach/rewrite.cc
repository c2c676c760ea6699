#include "teach/rewrite.h"

#include "teach/diagonal_products.h"
#include "teach/roll_loops.h"

namespace tritogen::teach {

std::optional<RewrittenProgram> Rewrite(const Program& program) {
  ProgramEdit edit(program);
  bool changed = RollLoops(edit);
  changed |= MultiplyByDiagonals(edit);
  if (!changed) return std::nullopt;
  RewrittenProgram done;
  done.program = edit.Finish(&done.renumbered);
  return done;
}

}  // namespace tritogen::teach
