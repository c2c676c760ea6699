#include "teach/module_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <set>
#include <utility>

#include "base/python_tokens.h"
#include "program/names.h"
#include "teach/kernel_text.h"

namespace tritogen::teach {
namespace {

// "softmax_relu", unlike every kernel and variable.
std::string FunctionName(const ModuleParts& parts, std::set<std::string> taken) {
  for (const KernelCode& kernel : parts.kernels) taken.insert(kernel.name);
  std::string name = parts.kernels.empty() ? "compute" : "run_" + parts.kernels.back().name;
  while (taken.count(name) > 0) name += "_all";
  return NameTable{"self"}.Unique(name);
}

std::string Kernels(const Style& style, const ModuleParts& parts) {
  std::string kernels;
  for (const KernelCode& kernel : parts.kernels) {
    std::string summary = kernel.compute + ".";
    summary[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(summary[0])));
    kernels += "\n\n" + style.Written(kernel.source, summary);
  }
  return kernels;
}

std::string Imports(const std::string& kernels, const std::string& rest) {
  std::string text = "import torch\nimport torch.nn as nn\nimport triton\nimport triton.language as tl\n";
  if (kernels.find("libdevice.") != std::string::npos)
    text += "from triton.language.extra import libdevice\n";
  if (rest.find("TensorDescriptor.") != std::string::npos)
    text += "from triton.tools.tensor_descriptor import TensorDescriptor\n";
  return text;
}

}  // namespace

std::set<std::string> NamesIn(std::string_view source) {
  std::set<std::string> names;
  for (const PythonToken& token : PythonTokens(source)) {
    if (token.kind == PythonToken::Kind::kName) names.emplace(token.text);
  }
  return names;
}

std::string Indented(const std::vector<std::string>& lines, int depth) {
  const std::string indent(4 * depth, ' ');
  std::string text;
  for (const std::string& line : lines) {
    text += indent;
    for (char c : line) text += c == '\n' ? "\n" + indent : std::string(1, c);
    text += "\n";
  }
  return text;
}

std::string ModuleText(const Request& request, const Style& style, std::vector<std::string> parameters,
                       const ModuleParts& parts, std::set<std::string> taken) {
  const std::string kernels = Kernels(style, parts), combine = CombineFunctions(kernels),
                    forward = Indented(parts.forward, 2);
  std::string text = Imports(kernels + combine, parts.helpers + forward);
  if (!request.is_function) text = request.reference_source + "\n\n" + text;
  text += combine + kernels + parts.helpers;
  const std::string compute = parts.function_params.empty() ? "" : FunctionName(parts, std::move(taken));
  if (!compute.empty()) {
    text += fmt::format("\n\ndef {}({}):\n", compute, fmt::join(parts.function_params, ", ")) +
            Indented(parts.forward, 1);
  }
  parameters.insert(parameters.begin(), "self");
  text += fmt::format("\n\nclass ModelNew({}):\n", request.is_function ? "nn.Module" : request.entry);
  if (!parts.init.empty()) {
    text +=
        "    def __init__(self, *args):\n        super().__init__(*args)\n" + Indented(parts.init, 2) + "\n";
  }
  text += fmt::format("    def forward({}):\n", fmt::join(parameters, ", "));
  if (compute.empty()) return text + forward;
  return text + fmt::format("        return {}({})\n", compute, fmt::join(parts.function_args, ", "));
}

}  // namespace tritogen::teach
