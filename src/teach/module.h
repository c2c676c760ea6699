// The candidate's file: kernels and the module whose forward launches them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "teach/kernel.h"
#include "teach/style.h"
#include "teach/teacher.h"

namespace tritogen::teach {

struct Module {
  std::string source;
  std::string plan;  // teach/plan.h
};

// Nothing when the outputs do not fit the program's structure.
std::optional<Module> WriteModule(const Request& request, const Graph& graph,
                                  const std::vector<Group>& groups, const KernelOptions& options,
                                  const Style& style);

}  // namespace tritogen::teach
