// The text of a candidate's file, of lines and kernels that module.cc makes.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "teach/kernel.h"
#include "teach/style.h"
#include "teach/teacher.h"

namespace tritogen::teach {

struct ModuleParts {
  std::vector<std::string> init, forward;                   // lines
  std::string helpers;                                      // functions of Wrapper::kHelpers
  std::vector<std::string> function_params, function_args;  // of Wrapper::kFunction
  std::vector<KernelCode> kernels;
};

// The names in a reference's file, which kernels and functions beside it may not have: a function of the
// original would be replaced by a kernel that is called like it.
std::set<std::string> NamesIn(std::string_view source);

// Lines that may have lines in them, each of which is indented by so many steps.
std::string Indented(const std::vector<std::string>& lines, int depth);

// `parameters`: of forward; `taken`: names that a function beside it may not have.
std::string ModuleText(const Request& request, const Style& style, std::vector<std::string> parameters,
                       const ModuleParts& parts, std::set<std::string> taken);

}  // namespace tritogen::teach
