#include "teach/module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/error.h"
#include "program/catalogue.h"
#include "program/names.h"
#include "program/print.h"
#include "teach/kernel_text.h"

namespace tritogen::teach {
namespace {

std::string TupleText(const std::vector<int64_t>& sizes) {
  return sizes.size() == 1 ? fmt::format("({},)", sizes[0]) : fmt::format("({})", fmt::join(sizes, ", "));
}

// "self.up.weight"; a path with a number in it ("net.0.weight") is no attribute expression.
std::string StateText(const Node& node) {
  bool attributes = true, start = true;
  for (char c : node.name) {
    attributes &= !(start && std::isdigit(static_cast<unsigned char>(c)));
    start = c == '.';
  }
  if (attributes) return "self." + node.name;
  return fmt::format("self.get_{}(\"{}\")", node.kind == NodeKind::kBuffer ? "buffer" : "parameter",
                     node.name);
}

// Permutation of the dimensions that turns row-major order into these strides, if it is one.
std::optional<std::vector<int64_t>> AsPermutation(const View& view, const std::vector<int64_t>& sizes) {
  if (view.offset != 0 || view.sizes.size() != sizes.size() || !view.guards.empty()) return std::nullopt;
  std::vector<int64_t> strides = ContiguousStrides(sizes), dims;
  for (int i = 0; i < view.rank(); ++i) {
    int64_t found = -1;
    for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
      bool taken = std::find(dims.begin(), dims.end(), d) != dims.end();
      if (!taken && sizes[d] == view.sizes[i] && (strides[d] == view.strides[i] || sizes[d] == 1)) found = d;
      if (found == d) break;
    }
    if (found < 0) return std::nullopt;
    dims.push_back(found);
  }
  return dims;
}

class ModuleWriter {
 public:
  ModuleWriter(const Request& request, const Graph& graph, const std::vector<Group>& groups,
               const KernelOptions& options)
      : request_(request), program_(*request.program), graph_(graph), groups_(groups), options_(options) {}

  std::optional<Module> Write() {
    if (!HasEverySource()) return std::nullopt;
    NameValues();
    Inputs();
    for (const Group& group : groups_) {
      if (group.kind == GroupKind::kCall) {
        Call(group);
      } else {
        Launch(group);
      }
    }
    for (size_t i = 0; i < graph_.prims.size(); ++i) {
      const Prim& prim = graph_.prims[i];
      if (prim.kind == PrimKind::kEmpty) Allocate(static_cast<PrimId>(i));
    }
    std::vector<std::string> leaves;
    for (const View& view : graph_.outputs) leaves.push_back(TensorText(view));
    std::string result = FillStructure(program_.structure, leaves);
    if (result.empty()) return std::nullopt;
    forward_.push_back("return " + result);
    return Module{Source(), PlanText()};
  }

 private:
  // Constants must come with their values.
  bool HasEverySource() const {
    return std::all_of(graph_.prims.begin(), graph_.prims.end(), [&](const Prim& prim) {
      return prim.kind != PrimKind::kSource || program_.nodes[prim.node.id].kind != NodeKind::kConstant ||
             request_.constants.count(prim.node.id) > 0;
    });
  }

  void NameValues() {
    for (const std::string& parameter : Parameters()) names_.Unique(parameter);
    for (const Prim& prim : graph_.prims) {
      bool input = prim.kind == PrimKind::kSource && program_.nodes[prim.node.id].kind == NodeKind::kInput;
      buffers_.push_back(input && request_.inputs.empty() ? PythonIdentifier(prim.name)
                                                          : names_.Unique(prim.name));
    }
  }

  std::vector<std::string> Parameters() const {
    if (!request_.inputs.empty()) return request_.parameters;
    std::vector<std::string> parameters;
    for (const Node& node : program_.nodes) {
      if (node.kind == NodeKind::kInput) parameters.push_back(PythonIdentifier(node.name));
    }
    return parameters;
  }

  // Gives every source the expression that it is used by.
  void Inputs() {
    size_t input = 0;
    std::vector<std::string> by_node(program_.nodes.size());
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      const Node& node = program_.nodes[i];
      if (node.kind == NodeKind::kInput) {
        by_node[i] = request_.inputs.empty() ? PythonIdentifier(node.name) : request_.inputs.at(input);
        ++input;
      } else if (node.kind != NodeKind::kOp) {
        auto constant = request_.constants.find(static_cast<NodeId>(i));
        by_node[i] = StateText(node);
        if (constant != request_.constants.end()) {
          init_.push_back(
              fmt::format("self.register_buffer(\"{}\", {}, persistent=False)", node.name, constant->second));
        }
      }
    }
    texts_.resize(graph_.prims.size());
    for (size_t i = 0; i < graph_.prims.size(); ++i) {
      const Prim& prim = graph_[static_cast<PrimId>(i)];
      if (prim.kind != PrimKind::kSource) {
        texts_[i] = buffers_[i];
        continue;
      }
      texts_[i] = by_node[prim.node.id];
      bool strided = std::count(request_.strided.begin(), request_.strided.end(), prim.node.id) > 0;
      if (strided) {
        forward_.push_back(fmt::format("{} = {}.contiguous()", buffers_[i], texts_[i]));
        texts_[i] = buffers_[i];
      }
      if (device_.empty() || program_.nodes[prim.node.id].kind == NodeKind::kInput) {
        if (device_.empty() || !device_from_input_) device_ = texts_[i] + ".device";
        device_from_input_ |= program_.nodes[prim.node.id].kind == NodeKind::kInput;
      }
    }
    if (device_.empty()) device_ = "\"cuda\"";
  }

  // A view as a PyTorch expression.
  std::string TensorText(const View& view) const {
    const Prim& prim = graph_[view.prim];
    const std::string& base = texts_[view.prim];
    if (view.IsContiguous() && view.numel() == ContiguousView(view.prim, prim.sizes).numel()) {
      return view.sizes == prim.sizes ? base : fmt::format("{}.view({})", base, TupleText(view.sizes));
    }
    if (auto dims = AsPermutation(view, prim.sizes)) {
      return fmt::format("{}.permute({})", base, fmt::join(*dims, ", "));
    }
    return fmt::format("{}.as_strided({}, {}, {})", base, TupleText(view.sizes), TupleText(view.strides),
                       view.offset);
  }

  void Allocate(PrimId id) {
    const Prim& prim = graph_[id];
    for (const Graph::Write& write : graph_.writes) {
      if (write.value == id) {
        texts_[id] = texts_[write.to];
        return;
      }
    }
    forward_.push_back(fmt::format("{} = torch.empty({}, device={}, dtype=torch.{})", buffers_[id],
                                   TupleText(prim.sizes), device_, DtypeName(prim.dtype)));
  }

  void Launch(const Group& group) {
    std::vector<std::string> operators = Operators(graph_, group);
    if (operators.size() > 4) operators = {operators[0], operators[1], operators[2], operators.back()};
    if (operators.empty()) operators = {"copy"};
    std::string name = kernel_names_.Unique(fmt::format("{}_kernel", fmt::join(operators, "_")));
    KernelCode kernel = WriteKernel(graph_, group, buffers_, options_, name);
    for (PrimId id : group.stores) Allocate(id);
    kernel.name = KnownAs(group, kernel);
    std::vector<std::string> args;
    for (PrimId id : kernel.pointers) args.push_back(texts_[id]);
    args.push_back(kernel.constants);
    args.push_back(fmt::format("num_warps={}", kernel.num_warps));
    if (kernel.num_stages > 0) args.push_back(fmt::format("num_stages={}", kernel.num_stages));
    std::string call = fmt::format("{}[{}]({})", kernel.name, kernel.grid, fmt::join(args, ", "));
    if (call.size() > 100) {
      call = fmt::format("{}[{}](\n            {},\n        )", kernel.name, kernel.grid, fmt::join(args, ", "));
    }
    forward_.push_back(call);
    if (kernel.name == name) kernels_.push_back(std::move(kernel));
  }

  // The name of an earlier kernel that differs in nothing but the names of tensors; else its own.
  std::string KnownAs(const Group& group, const KernelCode& kernel) {
    std::vector<std::string> plain = buffers_;
    for (size_t i = 0; i < kernel.pointers.size(); ++i) plain[kernel.pointers[i]] = fmt::format("t{}", i);
    return known_.emplace(WriteKernel(graph_, group, plain, options_, "kernel").source, kernel.name).first->second;
  }

  void Call(const Group& group) {
    const Prim& first = graph_[group.members[0]];
    const Node& node = program_.nodes[first.node.id];
    size_t next = 0;
    // Operands stand in the prim in the order in which the call names them.
    auto name = [&](NodeRef) { return TensorText(first.operands.at(next++)); };
    std::vector<std::string> targets(node.results.size(), "_");
    for (PrimId member : group.members) targets[graph_[member].node.result] = buffers_[member];
    std::string call = CallText(node, name, device_);
    std::string left = fmt::format("{}", fmt::join(targets, ", "));
    bool list = targets.size() == 1 && ReturnsList(node);
    forward_.push_back(fmt::format("{}{} = {}", left, list ? "," : "", call));
    for (PrimId member : group.members) {
      // Kernels and views take row-major order for granted; this costs nothing where it is so already.
      if (NeedsRowMajor(member)) forward_.push_back(fmt::format("{0} = {0}.contiguous()", buffers_[member]));
    }
    calls_.push_back(std::string(BaseName(node.op)));
  }

  bool NeedsRowMajor(PrimId id) const {
    auto plain = [&](const View& view) { return view.prim != id || view == graph_.Whole(id); };
    for (const Prim& prim : graph_.prims) {
      for (const View& view : prim.operands) {
        if (view.prim == id && (prim.kind != PrimKind::kCall || !plain(view))) return true;
      }
    }
    return !std::all_of(graph_.outputs.begin(), graph_.outputs.end(), plain);
  }

  std::string Source() const {
    std::string kernels;
    for (const KernelCode& kernel : kernels_) kernels += "\n\n" + kernel.source;
    // Functions that kernels combine elements with.
    auto combine = [&](std::string_view name, std::string_view expr) -> std::string {
      if (kernels.find(fmt::format(", {})", name)) == std::string::npos &&
          kernels.find(fmt::format(", {},", name)) == std::string::npos)
        return "";
      return fmt::format("\n\n@triton.jit\ndef {}(a, b):\n    return {}\n", name, expr);
    };
    std::string text = "import torch\nimport torch.nn as nn\nimport triton\nimport triton.language as tl\n";
    if (kernels.find("libdevice.") != std::string::npos)
      text += "from triton.language.extra import libdevice\n";
    if (!request_.is_function) text = request_.reference_source + "\n\n" + text;
    text += combine("multiply", "a * b");
    text += combine("larger", "tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)");
    text += combine("smaller", "tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)");
    text += kernels;
    std::vector<std::string> parameters = Parameters();
    parameters.insert(parameters.begin(), "self");
    text += fmt::format("\n\nclass ModelNew({}):\n", request_.is_function ? "nn.Module" : request_.entry);
    if (!init_.empty()) {
      text += "    def __init__(self, *args):\n        super().__init__(*args)\n";
      for (const std::string& line : init_) text += "        " + line + "\n";
      text += "\n";
    }
    text += fmt::format("    def forward({}):\n", fmt::join(parameters, ", "));
    for (const std::string& line : forward_) text += "        " + line + "\n";
    return text;
  }

  std::string PlanText() const {
    std::string text;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      const KernelCode& kernel = kernels_[i];
      text += fmt::format("Kernel {} ({}).\n  Access: {}.\n  Launch: {}; {} warps.\n  Work: {}.\n", i + 1,
                          kernel.name, kernel.access, kernel.launch, kernel.num_warps, kernel.compute);
    }
    text += fmt::format("Wrapper: allocate results, launch {} kernel{}", kernels_.size(),
                        kernels_.size() == 1 ? "" : "s");
    if (!calls_.empty()) text += fmt::format(", and leave {} to PyTorch", fmt::join(calls_, ", "));
    return text + "; parameters keep their names.\n";
  }

  const Request& request_;
  const Program& program_;
  const Graph& graph_;
  const std::vector<Group>& groups_;
  const KernelOptions& options_;
  NameTable names_{"self", "torch", "nn", "triton", "tl", "libdevice", "ModelNew"};
  NameTable kernel_names_;
  std::map<std::string, std::string> known_;  // kernels by their text with plain names
  std::vector<std::string> buffers_, texts_;  // by prim: local name, expression
  std::string device_;
  bool device_from_input_ = false;
  std::vector<std::string> init_, forward_, calls_;
  std::vector<KernelCode> kernels_;
};

}  // namespace

std::optional<Module> WriteModule(const Request& request, const Graph& graph,
                                  const std::vector<Group>& groups, const KernelOptions& options) {
  return ModuleWriter(request, graph, groups, options).Write();
}

}  // namespace tritogen::teach
