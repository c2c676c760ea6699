#include "teach/rewrite.h"

#include <algorithm>

#include "teach/circular_pads.h"
#include "teach/diagonal_products.h"
#include "teach/roll_loops.h"

namespace tritogen::teach {

namespace {

// Whether an operation may draw random numbers, which come in the program's own order and shapes.
bool Draws(const Node& node) {
  constexpr std::string_view kWords[] = {"rand",    "normal",      "uniform",   "bernoulli", "exponential",
                                         "dropout", "multinomial", "geometric", "cauchy",    "rrelu",
                                         "poisson", "binomial",    "gamma",     "dirichlet"};
  if (node.kind != NodeKind::kOp) return false;
  const auto call = BindCall(node);
  if (call && call->row->name == "dropout" &&
      (!AsBool(call->args["train"], true) || AsNumber(call->args["p"]) == 0.0))
    return false;
  return std::ranges::any_of(kWords, [&](auto word) { return node.op.find(word) != node.op.npos; });
}

}  // namespace

std::optional<RewrittenProgram> Rewrite(const Program& program) {
  if (std::ranges::any_of(program.nodes, Draws)) return std::nullopt;
  ProgramEdit edit(program);
  bool changed = RollLoops(edit);
  changed |= MultiplyByDiagonals(edit);
  changed |= SelectCircularly(edit);
  if (!changed) return std::nullopt;
  RewrittenProgram done;
  done.program = edit.Finish(&done.renumbered);
  return done;
}

}  // namespace tritogen::teach
