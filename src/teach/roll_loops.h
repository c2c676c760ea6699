// Loops over time steps that a program has written out, step by step: cells become recurrent layers, which
// have kernels of their own, and what is done to each step's state by the same weights is done to all at
// once.
#pragma once

#include <map>
#include <optional>

#include "program/program.h"

namespace tritogen::teach {

struct RolledProgram {
  Program program;
  std::map<NodeId, NodeId> renumbered;  // its nodes, by what they were
};

// Nothing where there is no such loop.
std::optional<RolledProgram> RollLoops(const Program& program);

}  // namespace tritogen::teach
