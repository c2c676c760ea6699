#include "teach/module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "program/catalogue.h"
#include "program/names.h"
#include "program/print.h"
#include "teach/joins.h"
#include "teach/kernel_text.h"
#include "teach/module_text.h"
#include "teach/placed_parts.h"
#include "teach/plan.h"
#include "teach/tensor_text.h"

namespace tritogen::teach {
namespace {

class ModuleWriter {
 public:
  ModuleWriter(const Request& request, const Graph& graph, const std::vector<Group>& groups,
               const KernelOptions& options, const Style& style)
      : request_(request),
        program_(*request.program),
        graph_(graph),
        groups_(groups),
        options_(options),
        style_(style),
        plan_(program_, graph_) {}

  std::optional<Module> Write() {
    if (!HasEverySource()) return std::nullopt;
    NameValues();
    ShapeResults();
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
      if (prim.kind == PrimKind::kEmpty)
        parts_.forward.push_back(Allocation(static_cast<PrimId>(i), device_));
    }
    returned_ = FillStructure(program_.structure, Outputs());
    if (returned_.empty()) return std::nullopt;
    for (const Graph::Write& write : graph_.writes) {
      if (given_[write.to] != texts_[write.to])
        parts_.forward.push_back(fmt::format("{}.copy_({})", given_[write.to], texts_[write.to]));
    }
    const size_t before = graph_.outputs.size() - graph_.updates.size();
    for (size_t i = 0; i < graph_.updates.size(); ++i) {
      parts_.forward.push_back(
          fmt::format("{}.copy_({})", given_[graph_.updates[i]], TextOf(graph_.outputs[before + i])));
    }
    parts_.forward.push_back("return " + returned_);
    taken_.insert(buffers_.begin(), buffers_.end());
    return Module{ModuleText(request_, style_, Parameters(), parts_, std::move(taken_)),
                  PlanText(plan_.Finish(returned_, request_.lines), parts_.kernels, style_.wording,
                           !request_.is_function)};
  }

 private:
  std::vector<std::string> Outputs() {
    std::vector<std::string> leaves;
    size_t tensor = 0, other = 0;
    for (size_t i = 0; i < program_.Leaves(); ++i) {
      const NodeRef ref = program_.outputs[i];
      const bool given = ref.id < 0 && other < request_.fixed_outputs.size();
      leaves.push_back(ref.id >= 0 ? TextOf(graph_.outputs[tensor++])
                       : given     ? request_.fixed_outputs[other++]
                                   : "None");
    }
    return leaves;
  }

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
      const bool source = prim.kind == PrimKind::kSource;
      const bool input = source && program_.nodes[prim.node.id].kind == NodeKind::kInput;
      buffers_.push_back(input && request_.inputs.empty() ? PythonIdentifier(prim.name)
                         : source                         ? names_.Unique(prim.name)
                                                          : prim.name);
    }
    // Results are called as in the program, before anything else takes the name.
    for (const bool results : {true, false}) {
      for (size_t i = 0; i < graph_.prims.size(); ++i) {
        const Prim& prim = graph_.prims[i];
        if (prim.kind == PrimKind::kSource || results == prim.result.empty()) continue;
        if (results || Stored(static_cast<PrimId>(i)))
          buffers_[i] = names_.Unique(results ? prim.result : prim.name);
      }
    }
    wave_ = names_.Unique("wave");
    grid_ = names_.Unique("grid");
  }

  bool Stored(PrimId id) const {
    return graph_[id].kind == PrimKind::kEmpty || graph_[id].kind == PrimKind::kCall ||
           graph_[id].kind == PrimKind::kJoined ||
           std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
             return std::find(group.stores.begin(), group.stores.end(), id) != group.stores.end();
           });
  }

  // Results are made in the shape that the program gives them, and in the one they are returned in where that
  // is another; PyTorch's calls have shapes of their own.
  void ShapeResults() {
    for (const Prim& prim : graph_.prims) {
      TRITOGEN_CHECK(Product(prim.Shape()) == Product(prim.sizes));
      sizes_.push_back(prim.kind == PrimKind::kCall ? prim.sizes : prim.Shape());
    }
    for (const View& view : graph_.outputs) {
      const bool made = view.prim >= 0 && graph_[view.prim].kind != PrimKind::kSource &&
                        graph_[view.prim].kind != PrimKind::kCall;
      if (made && view.IsContiguous() && view.numel() == Product(sizes_[view.prim]))
        sizes_[view.prim] = view.sizes;
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
        const bool read = Product(node.results[0].sizes) > 0 ||  // by kernels; of a concatenation, say
                          std::ranges::count(program_.outputs, NodeRef{static_cast<NodeId>(i)}) > 0;
        if (constant != request_.constants.end() && read) {
          parts_.init.push_back(
              fmt::format("self.register_buffer(\"{}\", {}, persistent=False)", node.name, constant->second));
        }
      }
    }
    texts_.resize(graph_.prims.size());
    given_.resize(graph_.prims.size());
    for (size_t i = 0; i < graph_.prims.size(); ++i) {
      const Prim& prim = graph_[static_cast<PrimId>(i)];
      if (prim.kind != PrimKind::kSource) {
        texts_[i] = buffers_[i];
        continue;
      }
      texts_[i] = by_node[prim.node.id];
      if (style_.wrapper == Wrapper::kFunction) {
        parts_.function_params.push_back(buffers_[i]);
        parts_.function_args.push_back(texts_[i]);
        texts_[i] = buffers_[i];
      }
      given_[i] = texts_[i];
      bool strided = std::count(request_.strided.begin(), request_.strided.end(), prim.node.id) > 0;
      if (strided) {
        const auto id = static_cast<PrimId>(i);
        const bool kept = std::ranges::count(graph_.updates, id) > 0 ||
                          std::ranges::count(graph_.writes, id, &Graph::Write::to) > 0;
        const std::string rows = kept ? names_.Unique(buffers_[i] + "_rows") : buffers_[i];
        parts_.forward.push_back(fmt::format("{} = {}.contiguous()", rows, texts_[i]));
        texts_[i] = rows;
      }
      if (device_.empty() || program_.nodes[prim.node.id].kind == NodeKind::kInput) {
        if (device_.empty() || !device_from_input_) device_ = texts_[i] + ".device";
        device_from_input_ |= program_.nodes[prim.node.id].kind == NodeKind::kInput;
      }
    }
    if (device_.empty()) device_ = "\"cuda\"";
  }

  std::string TextOf(const View& view) const {
    return TensorText(texts_[view.prim], sizes_[view.prim], view);
  }

  // Gives a value its memory; nothing to do for one that goes into a source. What a scatter starts from is
  // there before its kernel.
  std::string Allocation(PrimId id, const std::string& device) const {
    const Prim& prim = graph_[id];
    if (prim.kind == PrimKind::kScatter && prim.start.empty()) {
      const View& before = prim.operands[0];
      const bool whole = before == graph_.Whole(before.prim);
      const std::string copy = whole && IsForOneReader(graph_, before.prim) ? ""
                               : whole                                      ? ".clone()"
                                       : ".clone(memory_format=torch.contiguous_format)";
      const bool same = sizes_[id] == before.sizes;
      return fmt::format("{} = {}{}{}", buffers_[id], TextOf(before), copy,
                         same ? "" : fmt::format(".view({})", TupleText(sizes_[id])));
    }
    if (prim.kind == PrimKind::kScatter) {
      return fmt::format("{} = torch.full({}, {}, device={}, dtype=torch.{})", buffers_[id],
                         TupleText(sizes_[id]), prim.start, device, DtypeName(prim.dtype));
    }
    return fmt::format("{} = torch.empty({}, device={}, dtype=torch.{})", buffers_[id], TupleText(sizes_[id]),
                       device, DtypeName(prim.dtype));
  }

  bool Written(PrimId id) {
    for (const Graph::Write& write : graph_.writes) {
      if (write.value != id) continue;
      texts_[id] = texts_[write.to];
      return true;
    }
    return false;
  }

  void Launch(const Group& group) {
    std::vector<std::string> operators = Operators(graph_, group);
    if (operators.size() > 4) operators = {operators[0], operators[1], operators[2], operators.back()};
    if (operators.empty()) operators = {"copy"};
    const std::string own = fmt::format(fmt::runtime(style_.kernel_name), fmt::join(operators, "_"));
    std::string name = kernel_names_.Unique(own);
    KernelCode kernel = WriteKernel(graph_, group, buffers_, options_, name);
    std::vector<PrimId> made;
    std::set<PrimId> in_parts;
    for (PrimId id : group.stores) {
      if (const auto place = PlaceOfPart(graph_, id)) {
        in_parts.insert(place->prim);
      } else if (!Written(id)) {
        made.push_back(id);
      }
    }
    for (PrimId id : in_parts) {
      if (joined_.insert(id).second && !Written(id)) parts_.forward.push_back(Allocation(id, device_));
    }
    kernel.name = KnownAs(group, kernel);
    const bool helper = style_.wrapper == Wrapper::kHelpers && group.kind != GroupKind::kScatter &&
                        made.size() < kernel.pointers.size();
    if (helper) {
      Helper(kernel, made);
    } else {
      for (PrimId id : made) parts_.forward.push_back(Allocation(id, device_));
      LaunchLines(kernel, texts_, parts_.forward);
    }
    made.insert(made.end(), in_parts.begin(), in_parts.end());
    plan_.Add({kernel.name, Flow(kernel.pointers, made), kernel.name == name ? kernel.access : ""}, group);
    if (kernel.name == name) parts_.kernels.push_back(std::move(kernel));
  }

  // "x0, x1 -> sum [32, 64]": what is read, what is made.
  std::string Flow(const std::vector<PrimId>& pointers, const std::vector<PrimId>& made) const {
    std::vector<std::string> read, written;
    for (PrimId id : pointers) {
      if (std::find(made.begin(), made.end(), id) == made.end()) read.push_back(buffers_[id]);
    }
    for (PrimId id : made)
      written.push_back(fmt::format("{} [{}]", buffers_[id], fmt::join(sizes_[id], ", ")));
    return fmt::format("{} -> {}", fmt::join(read, ", "), fmt::join(written, ", "));
  }

  // The launch itself, arguments by the texts given.
  void LaunchLines(const KernelCode& kernel, const std::vector<std::string>& texts,
                   std::vector<std::string>& lines) const {
    std::vector<std::string> args;
    for (PrimId id : kernel.pointers) args.push_back(texts[id]);
    if (kernel.waves > 0) args.push_back(wave_);
    for (const auto& [at, shape, block] : kernel.descriptors) {
      args[at] = fmt::format("TensorDescriptor.from_tensor({}.view({}), {})", args[at], shape, block);
    }
    args.push_back(style_.Constants(kernel.constants, kernel.source));
    args.push_back(fmt::format("num_warps={}", kernel.num_warps));
    if (kernel.num_stages > 0) args.push_back(fmt::format("num_stages={}", kernel.num_stages));
    std::string grid = fmt::format("({},)", kernel.grid);
    if (style_.grid_line) {
      lines.push_back(fmt::format("{} = {}", grid_, grid));
      grid = grid_;
    }
    std::string call = fmt::format("{}[{}]({})", kernel.name, grid, fmt::join(args, ", "));
    if (call.size() > 100)
      call = fmt::format("{}[{}](\n    {},\n)", kernel.name, grid, fmt::join(args, ", "));
    if (kernel.waves > 0)
      call = fmt::format("for {} in range({}):\n{}", wave_, kernel.waves, Indented({call}, 1));
    if (call.back() == '\n') call.pop_back();
    lines.push_back(call);
  }

  // A function for one launch: what it reads comes in, what it makes goes out.
  void Helper(const KernelCode& kernel, const std::vector<PrimId>& made) {
    std::vector<std::string> params, given, results;
    for (PrimId id : kernel.pointers) {
      if (std::find(made.begin(), made.end(), id) != made.end()) continue;
      params.push_back(buffers_[id]);
      given.push_back(texts_[id]);
    }
    for (PrimId id : made) results.push_back(buffers_[id]);
    std::vector<std::string> lines;
    for (PrimId id : made) lines.push_back(Allocation(id, params[0] + ".device"));
    LaunchLines(kernel, buffers_, lines);
    if (!made.empty()) lines.push_back(fmt::format("return {}", fmt::join(results, ", ")));
    const std::string name = kernel_names_.Unique("launch_" + kernel.name);
    parts_.helpers += fmt::format("\n\ndef {}({}):\n", name, fmt::join(params, ", ")) + Indented(lines, 1);
    const std::string call = fmt::format("{}({})", name, fmt::join(given, ", "));
    parts_.forward.push_back(made.empty() ? call : fmt::format("{} = {}", fmt::join(results, ", "), call));
  }

  // The name of an earlier kernel that differs in nothing but the names of tensors; else its own.
  std::string KnownAs(const Group& group, const KernelCode& kernel) {
    std::vector<std::string> plain = buffers_;
    for (PrimId id : group.members) plain[id] = graph_[id].name;
    for (size_t i = 0; i < kernel.pointers.size(); ++i) plain[kernel.pointers[i]] = fmt::format("t{}", i);
    return known_.emplace(WriteKernel(graph_, group, plain, options_, "kernel").source, kernel.name)
        .first->second;
  }

  void Call(const Group& group) {
    const Prim& first = graph_[group.members[0]];
    const Node& node = program_.nodes[first.node.id];
    size_t next = 0;
    // Operands stand in the prim in the order in which the call names them.
    auto name = [&](NodeRef) {
      if (!first.on_ones) return TextOf(first.operands.at(next++));
      return fmt::format("torch.ones({}, device={}, dtype=torch.{})", TupleText(first.sizes), device_,
                         DtypeName(first.dtype));
    };
    std::vector<std::string> targets(node.results.size(), "_");
    for (PrimId member : group.members) targets[graph_[member].node.result] = buffers_[member];
    std::string call = CallText(node, name, device_);
    parts_.forward.push_back(fmt::format("{} = {}", TargetsText(node, targets), call));
    for (PrimId member : group.members) {
      // Kernels and views take row-major order for granted; this costs nothing where it is so already.
      if (NeedsRowMajor(member))
        parts_.forward.push_back(fmt::format("{0} = {0}.contiguous()", buffers_[member]));
    }
    std::vector<PrimId> read;
    for (const View& view : first.operands) {
      if (view.prim >= 0) read.push_back(view.prim);
    }
    plan_.Add({fmt::format("PyTorch's {}", BaseName(node.op)), Flow(read, group.members), ""}, group);
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

  const Request& request_;
  const Program& program_;
  const Graph& graph_;
  const std::vector<Group>& groups_;
  const KernelOptions& options_;
  const Style& style_;
  // Modules that a reference's file imports, too: a kernel that speaks of one of them is not printed.
  NameTable names_{"self",     "torch", "nn",   "triton", "tl",    "libdevice",
                   "ModelNew", "F",     "math", "np",     "numpy", "einops"};
  std::set<std::string> taken_ = NamesIn(request_.reference_source);
  NameTable kernel_names_ = NameTable(taken_);
  std::set<PrimId> joined_;                   // concatenations that are allocated
  std::map<std::string, std::string> known_;  // kernels by their text with plain names
  std::vector<std::string> buffers_, texts_;  // by prim: local name, expression
  std::vector<std::string> given_;            // of sources: the tensor itself, not a copy in row-major order
  std::vector<std::vector<int64_t>> sizes_;   // by prim: of its tensor
  PlanBuilder plan_;
  std::string returned_;
  std::string grid_;  // of a launch, where it has a line of its own
  std::string wave_;  // counts the launches of a kernel that is launched again and again
  std::string device_;
  bool device_from_input_ = false;
  ModuleParts parts_;
};

}  // namespace

std::optional<Module> WriteModule(const Request& request, const Graph& graph,
                                  const std::vector<Group>& groups, const KernelOptions& options,
                                  const Style& style) {
  return ModuleWriter(request, graph, groups, options, style).Write();
}

}  // namespace tritogen::teach
