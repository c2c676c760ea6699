// What a program is turned into before it is taken apart: the same results by other operations.
#pragma once

#include <map>
#include <optional>

#include "program/program.h"

namespace tritogen::teach {

struct RewrittenProgram {
  Program program;
  std::map<NodeId, NodeId> renumbered;  // its nodes, by what they were
};

// Nothing where it stays as it is.
std::optional<RewrittenProgram> Rewrite(const Program& program);

}  // namespace tritogen::teach
