// The text of a candidate's file, of lines and kernels that module.cc makes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program/names.h"
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

// The names of a reference's file, which kernels and functions beside it may not have: a function of the
// original would be replaced by a kernel that is called like it.
NameTable NamesIn(std::string_view source);

// Lines that may have lines in them, each of which is indented by so many steps.
std::string Indented(const std::vector<std::string>& lines, int depth);

// `parameters`: of forward; `variables`: names that forward uses.
std::string ModuleText(const Request& request, const Style& style, std::vector<std::string> parameters,
                       const ModuleParts& parts, const std::vector<std::string>& variables);

}  // namespace tritogen::teach
