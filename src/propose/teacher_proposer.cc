#include "propose/teacher_proposer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "plan/lift_views.h"
#include "plan/visit.h"
#include "program/literal.h"
#include "program/names.h"
#include "program/print.h"
#include "propose/constant_text.h"
#include "teach/teacher.h"

namespace tritogen {
namespace {

bool IsRowMajor(const TensorMeta& meta) {
  int64_t expected = 1;
  for (size_t i = meta.sizes.size(); i-- > 0;) {
    if (meta.sizes[i] == 1) continue;
    if (meta.strides[i] != expected) return false;
    expected *= meta.sizes[i];
  }
  return true;
}

// Expressions for the tensor leaves of one argument, in order: "x", "states[0]", "batch[\"mask\"]".
void Leaves(const Value& value, const std::string& text, std::vector<std::string>& leaves,
            std::vector<TensorId>& tensors) {
  if (const auto* tensor = std::get_if<TensorRef>(&value.v)) {
    leaves.push_back(text);
    tensors.push_back(tensor->id);
  }
  ForEachItem(value, text,
              [&](const Value& item, const std::string& at) { Leaves(item, at, leaves, tensors); });
}

// Parameters of forward and where each input of the program is found in them, as the recorded call says;
// which tensors are not in row-major order.
void DescribeCall(const Plan& plan, const Program& program, teach::Request& request) {
  NameTable names{"self"};
  std::vector<NodeId> input_nodes;
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes.size()); ++id) {
    if (program.nodes[id].kind == NodeKind::kInput) input_nodes.push_back(id);
  }
  std::vector<TensorId> tensors;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    bool tensor = std::holds_alternative<TensorRef>(plan.inputs[i].v) && tensors.size() < input_nodes.size();
    std::string wish = tensor ? program.nodes[input_nodes[tensors.size()]].name : fmt::format("arg{}", i);
    request.parameters.push_back(names.Unique(wish));
    Leaves(plan.inputs[i], request.parameters.back(), request.inputs, tensors);
  }
  for (size_t i = 0; i < std::min(tensors.size(), input_nodes.size()); ++i) {
    if (!IsRowMajor(plan.tensors[tensors[i]])) request.strided.push_back(input_nodes[i]);
  }
  std::unordered_map<std::string_view, TensorId> state;
  for (const auto* entries : {&plan.state, &plan.unsaved}) {
    for (const StateEntry& entry : *entries) state.emplace(entry.name, entry.tensor);
  }
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes.size()); ++id) {
    const Node& node = program.nodes[id];
    if (node.kind != NodeKind::kParameter && node.kind != NodeKind::kBuffer) continue;
    auto found = state.find(node.name);
    if (found != state.end() && !IsRowMajor(plan.tensors[found->second])) request.strided.push_back(id);
  }
}

// A buffer that set-up computed without registering it (setup_<tensor id>) has no name that a candidate could
// use.
bool HasNamelessState(const Plan& plan, const Program& program) {
  return std::any_of(program.nodes.begin(), program.nodes.end(), [&](const Node& node) {
    auto named = [&](const StateEntry& entry) { return entry.name == node.name; };
    return (node.kind == NodeKind::kBuffer || node.kind == NodeKind::kParameter) &&
           std::none_of(plan.state.begin(), plan.state.end(), named) &&
           std::none_of(plan.unsaved.begin(), plan.unsaved.end(), named);
  });
}

// A tensor on the CPU that is made of nothing, as Python: `return y, torch.tensor(0.0)`. Empty for others.
std::string MadeOnCpu(const Program& program, NodeRef output,
                      const std::map<NodeId, std::string>& constants) {
  if (const auto constant = constants.find(output.id); constant != constants.end()) return constant->second;
  const Node& node = program.nodes[output.id];
  bool made = node.kind == NodeKind::kOp && node.results.size() == 1;
  ForEachRef(node, [&](NodeRef) { made = false; });
  return made ? CallText(
                    node, [](NodeRef) { return std::string(); }, "\"cpu\"")
              : "";
}

// What forward returns beside tensors of the device, which alone stay outputs of the program.
std::vector<std::string> FixedOutputs(const Plan& plan, const std::map<NodeId, std::string>& constants,
                                      Program* program) {
  std::vector<std::string> texts;
  for (size_t at = 0; at < plan.outputs.size(); ++at) {
    const Value& output = plan.outputs[at];
    if (const auto* tensor = std::get_if<TensorRef>(&output.v)) {
      if (plan.tensors[tensor->id].on_cuda) continue;
      const std::string made = MadeOnCpu(*program, program->outputs[at], constants);
      if (made.empty()) continue;
      texts.push_back(made);
      program->outputs[at] = {-1, 0};
      continue;
    }
    Arg arg;
    if (const auto* b = std::get_if<bool>(&output.v)) arg = {*b};
    if (const auto* i = std::get_if<int64_t>(&output.v)) arg = {*i};
    if (const auto* d = std::get_if<double>(&output.v)) arg = {*d};
    if (const auto* s = std::get_if<std::string>(&output.v)) arg = {*s};
    texts.push_back(PythonLiteral(arg));
  }
  return texts;
}

size_t InputCount(const Program& program) {
  size_t count = 0;
  for (const Node& node : program.nodes) count += node.kind == NodeKind::kInput;
  return count;
}

}  // namespace

std::vector<Candidate> TeacherProposer::Propose(const ProposeRequest& request) {
  teach::Request lesson;
  Program program = *request.program;
  lesson.program = &program;
  lesson.reference_source = request.reference_source;
  lesson.entry = request.entry;
  // Without a recorded reference there is no class to extend: the answer stands alone.
  lesson.is_function = request.is_function || request.reference == nullptr;
  lesson.strict = request.strict;
  lesson.fp32_precision = request.fp32_precision;
  lesson.simple = request.simple;
  lesson.lines = request.lines;
  lesson.count = request.count;
  lesson.seed = request.seed;
  if (request.reference != nullptr) {
    DescribeCall(*request.reference, *request.program, lesson);
    lesson.constants = ConstantTexts(*request.reference, *request.program);
    lesson.fixed_outputs = FixedOutputs(*request.reference, lesson.constants, &program);
    std::erase_if(lesson.constants, [needed = NeededNodes(program)](const auto& constant) {
      return !needed[constant.first];  // nobody registers those
    });
    if (HasNamelessState(*request.reference, *request.program)) return {};
    if (lesson.inputs.size() != InputCount(*request.program)) return {};
  }
  std::vector<Candidate> candidates;
  for (teach::Answer& answer : teach::Teach(lesson)) {
    candidates.push_back(
        {"teacher", std::move(answer.strategy), std::move(answer.plan), std::move(answer.source)});
  }
  return candidates;
}

}  // namespace tritogen
