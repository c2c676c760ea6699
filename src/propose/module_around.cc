#include "propose/module_around.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "plan/visit.h"
#include "program/literal.h"
#include "propose/constant_text.h"

namespace tritogen {
namespace {

bool HasName(const Plan* plan, const std::string& name) {
  return plan == nullptr || std::any_of(plan->state.begin(), plan->state.end(),
                                        [&](const StateEntry& entry) { return entry.name == name; });
}

// Whether an answer to the canonical program is an answer to the reference: a constructor and a forward with
// the same arguments, so no state, and tensors only, none of them in a list or a dict.
bool TakesProgramArguments(const ProposeRequest& request) {
  const auto& nodes = request.program->nodes;
  const bool state = std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
    return node.kind == NodeKind::kParameter || node.kind == NodeKind::kBuffer ||
           node.kind == NodeKind::kConstant;
  });
  const auto inputs = std::count_if(nodes.begin(), nodes.end(),
                                    [](const Node& node) { return node.kind == NodeKind::kInput; });
  const Plan* reference = request.reference;
  if (state || reference == nullptr) return !state;
  return reference->init_inputs.empty() && std::cmp_equal(reference->inputs.size(), inputs) &&
         std::ranges::all_of(reference->inputs,
                             [](const Value& value) { return std::holds_alternative<TensorRef>(value.v); });
}

// Where forward, whose arguments are `*inputs`, finds the tensors among them.
std::vector<std::string> TensorsOf(const Plan* reference) {
  if (reference == nullptr) return {"*inputs"};
  std::vector<std::string> tensors;
  std::function<void(const Value&, const std::string&)> visit = [&](const Value& value,
                                                                    const std::string& at) {
    if (std::holds_alternative<TensorRef>(value.v)) tensors.push_back(at);
    ForEachItem(value, at, visit);
  };
  for (size_t i = 0; i < reference->inputs.size(); ++i)
    visit(reference->inputs[i], fmt::format("inputs[{}]", i));
  return tensors;
}

}  // namespace

std::optional<std::string> ModuleAround(const std::string& code, const std::string& function,
                                        const ProposeRequest& request) {
  std::map<NodeId, std::string> constants;
  if (request.reference != nullptr) constants = ConstantTexts(*request.reference, *request.program);
  std::vector<std::string> arguments = TensorsOf(request.reference);
  std::string buffers;
  for (NodeId id = 0; id < static_cast<NodeId>(request.program->nodes.size()); ++id) {
    const Node& node = request.program->nodes[id];
    if (node.kind == NodeKind::kInput || node.kind == NodeKind::kOp) continue;
    const std::string name = PythonLiteral(Arg{node.name});
    if (node.kind == NodeKind::kConstant) {
      const auto text = constants.find(id);
      if (text == constants.end()) return std::nullopt;
      buffers += fmt::format("        self.register_buffer({}, {}, persistent=False)\n", name, text->second);
    } else if (!HasName(request.reference, node.name)) {
      return std::nullopt;
    }
    arguments.push_back(
        fmt::format("self.get_{}({})", node.kind == NodeKind::kParameter ? "parameter" : "buffer", name));
  }
  if (!buffers.empty()) {
    buffers = "    def __init__(self, *inputs, **named):\n        super().__init__(*inputs, **named)\n" +
              buffers + "\n";
  }
  const std::string base = request.is_function ? "torch.nn.Module" : request.entry;
  return fmt::format(
      "{}import torch\n\n{}\n\n"
      "class ModelNew({}):\n{}"
      "    def forward(self, *inputs):\n"
      "        return {}({})\n",
      request.is_function ? "" : request.reference_source + "\n\n", code, base, buffers, function,
      fmt::join(arguments, ", "));
}

std::optional<std::string> FileOf(const std::string& code, const ProposeRequest& request) {
  if (TakesProgramArguments(request)) return code;
  return ModuleAround(code + "\n\n_program = ModelNew()\n", "_program", request);
}

}  // namespace tritogen
