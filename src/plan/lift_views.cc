#include "plan/lift_views.h"
#include "plan/visit.h"
#include "program/literal.h"

#include <algorithm>
#include <initializer_list>
#include <unordered_set>

namespace tritogen {
namespace {

const TensorRef* FirstTensor(const AtenStep& step) {
  return step.args.empty() ? nullptr : std::get_if<TensorRef>(&step.args[0].v);
}

// Integer argument by position, or the schema's default.
int64_t IntAt(const AtenStep& step, size_t index, int64_t fallback) {
  if (index >= step.args.size()) return fallback;
  const auto* value = std::get_if<int64_t>(&step.args[index].v);
  return value ? *value : fallback;
}

Arg ArgAt(const AtenStep& step, size_t index) {
  if (index < step.args.size()) {
    if (const auto* value = std::get_if<int64_t>(&step.args[index].v)) return {*value};
  }
  return {};
}

// dims of a permute, inverted; nothing when they are no permutation.
std::optional<Arg> InversePermutation(const AtenStep& step, size_t rank) {
  const auto* dims = step.args.size() > 1 ? std::get_if<Value::List>(&step.args[1].v) : nullptr;
  if (!dims || dims->size() != rank) return std::nullopt;
  std::vector<int64_t> inverse(rank, -1);
  for (size_t i = 0; i < rank; ++i) {
    const auto* dim = std::get_if<int64_t>(&(*dims)[i].v);
    int64_t wrapped = dim ? (*dim < 0 ? *dim + static_cast<int64_t>(rank) : *dim) : -1;
    if (wrapped < 0 || wrapped >= static_cast<int64_t>(rank) || inverse[wrapped] != -1) return std::nullopt;
    inverse[wrapped] = static_cast<int64_t>(i);
  }
  return IntsArg(inverse);
}

// Whether the operator's result lies in its first argument's memory.
bool IsViewOp(std::string_view aten_name) {
  return OneOf(WithoutOverload(aten_name), {"aten::view",
                                            "aten::_unsafe_view",
                                            "aten::reshape",
                                            "aten::_reshape_alias",
                                            "aten::flatten",
                                            "aten::unflatten",
                                            "aten::squeeze",
                                            "aten::unsqueeze",
                                            "aten::permute",
                                            "aten::transpose",
                                            "aten::t",
                                            "aten::expand",
                                            "aten::slice",
                                            "aten::select",
                                            "aten::narrow",
                                            "aten::diagonal",
                                            "aten::unbind",
                                            "aten::split",
                                            "aten::split_with_sizes",
                                            "aten::chunk",
                                            "aten::as_strided",
                                            "aten::movedim",
                                            "aten::swapaxes",
                                            "aten::unfold",
                                            "aten::view_as",
                                            "aten::detach",
                                            "aten::alias"});
}

}  // namespace

bool IsIdentity(const Plan& plan, const AtenStep& step) {
  const TensorRef* source = FirstTensor(step);
  if (!source || step.outs.size() != 1 || step.outs[0] == kNoTensor || step.outs[0] == source->id)
    return false;
  const TensorMeta& from = plan.tensors[source->id];
  const TensorMeta& to = plan.tensors[step.outs[0]];
  return OneOf(WithoutOverload(step.op), {"aten::detach", "aten::alias", "aten::lift_fresh", "aten::clone",
                                          "aten::contiguous", "aten::_to_copy", "aten::lift_fresh_copy"}) &&
         from.dtype == to.dtype && from.sizes == to.sizes;
}

TensorId WrittenTensor(const AtenStep& step) {
  const TensorRef* first = FirstTensor(step);
  return first && step.outs.size() == 1 && step.outs[0] == first->id ? first->id : kNoTensor;
}

TensorId ViewedTensor(const Plan& plan, const AtenStep& step) {
  const TensorRef* source = FirstTensor(step);
  if (!source || step.outs.size() != 1 || step.outs[0] == kNoTensor || step.outs[0] == source->id)
    return kNoTensor;
  return plan.tensors[source->id].storage == plan.tensors[step.outs[0]].storage ? source->id : kNoTensor;
}

std::vector<AtenStep> ViewsOneByOne(const Plan& plan, const AtenStep& step) {
  const TensorRef* source = FirstTensor(step);
  const std::string_view base = WithoutOverload(step.op);
  const bool places = base == "aten::unbind";
  if (!source || !(places || OneOf(base, {"aten::split", "aten::split_with_sizes", "aten::chunk"})))
    return {};
  const TensorMeta& whole = plan.tensors[source->id];
  const auto rank = static_cast<int64_t>(whole.sizes.size());
  int64_t dim = IntAt(step, places ? 1 : 2, 0), start = 0;
  if (dim < 0) dim += rank;
  if (dim < 0 || dim >= rank) return {};
  std::vector<AtenStep> views;
  for (const TensorId out : step.outs) {
    if (out == kNoTensor || plan.tensors[out].storage != whole.storage) return {};
    const std::vector<int64_t>& sizes = plan.tensors[out].sizes;
    if (sizes.size() != whole.sizes.size() - (places ? 1 : 0)) return {};
    AtenStep& view = views.emplace_back(
        AtenStep{.op = places ? "aten::select.int" : "aten::slice.Tensor", .outs = {out}, .line = step.line});
    view.args = {{*source}, {dim}, {start}};
    start += places ? 1 : sizes[dim];
    if (!places) view.args.insert(view.args.end(), {{start}, {int64_t{1}}});
  }
  return views;
}

std::optional<Node> InverseOfView(const AtenStep& view, const TensorMeta& base, NodeRef base_value,
                                  NodeRef value) {
  Node node;
  node.results = {{base.dtype, base.sizes}};
  auto op = [&](const char* name, std::vector<Arg> args) {
    node.op = name;
    node.args = std::move(args);
    return node;
  };
  if (WithoutOverload(view.op) == "aten::slice") {
    return op(
        "aten::slice_scatter",
        {{base_value}, {value}, {IntAt(view, 1, 0)}, ArgAt(view, 2), ArgAt(view, 3), {IntAt(view, 4, 1)}});
  }
  if (WithoutOverload(view.op) == "aten::select" && view.args.size() == 3) {
    return op("aten::select_scatter", {{base_value}, {value}, ArgAt(view, 1), ArgAt(view, 2)});
  }
  if (WithoutOverload(view.op) == "aten::t") return op("aten::t", {{value}});
  if (WithoutOverload(view.op) == "aten::transpose" && view.args.size() == 3) {
    return op("aten::transpose.int", {{value}, ArgAt(view, 1), ArgAt(view, 2)});
  }
  if (WithoutOverload(view.op) == "aten::permute") {
    auto dims = InversePermutation(view, base.sizes.size());
    return dims ? std::optional(op("aten::permute", {{value}, *dims})) : std::nullopt;
  }
  if (OneOf(WithoutOverload(view.op),
            {"aten::view", "aten::_unsafe_view", "aten::reshape", "aten::unsqueeze", "aten::squeeze",
             "aten::flatten", "aten::unflatten", "aten::_reshape_alias"}) &&
      view.op != "aten::view.dtype") {
    return op("aten::reshape", {{value}, IntsArg(base.sizes)});
  }
  return std::nullopt;
}

void DropCopies(Program* program) {
  std::vector<Node>& nodes = program->nodes;
  auto is_copy = [&](NodeId id) {
    const Node& node = nodes[id];
    return node.op == "aten::clone" && !node.args.empty() && std::holds_alternative<NodeRef>(node.args[0].v);
  };
  // Whose memory it is: the way back through views and copies, and the first copy on it. A reshape that
  // copies is recorded as a copy and a view of it, and says so by itself.
  struct Origin {
    NodeRef root;
    NodeId copy = -1;
  };
  auto origin_of = [&](NodeRef ref) {
    Origin origin{ref};
    bool reshaped = false;
    while (nodes[origin.root.id].kind == NodeKind::kOp) {
      const Node& node = nodes[origin.root.id];
      const auto* source = node.args.empty() ? nullptr : std::get_if<NodeRef>(&node.args[0].v);
      if (source == nullptr || !(is_copy(origin.root.id) || IsViewOp(node.op))) break;
      if (is_copy(origin.root.id) && origin.copy < 0 && !reshaped) origin.copy = origin.root.id;
      reshaped = node.op == "aten::_unsafe_view";
      origin.root = *source;
    }
    return origin;
  };
  std::vector<Origin> origins;
  for (NodeRef output : program->outputs) {
    if (output.id >= 0) origins.push_back(origin_of(output));
  }
  std::unordered_set<NodeId> kept;
  for (const Origin& origin : origins) {
    const auto sharers = std::count_if(origins.begin(), origins.end(),
                                       [&](const Origin& other) { return other.root == origin.root; });
    if (origin.copy >= 0 && (nodes[origin.root.id].kind != NodeKind::kOp || sharers > 1))
      kept.insert(origin.copy);
  }
  // So has a result that is laid out anew: whoever asks for memory in order, `permute(…).contiguous()`, gets
  // it.
  for (const NodeRef& output : program->outputs) {
    if (output.id < 0 || !is_copy(output.id)) continue;
    const NodeRef& source = std::get<NodeRef>(nodes[output.id].args[0].v);
    if (OneOf(
            WithoutOverload(nodes[source.id].op),
            {"aten::permute", "aten::transpose", "aten::t", "aten::movedim", "aten::swapaxes", "aten::expand",
             "aten::slice", "aten::select", "aten::narrow", "aten::diagonal", "aten::unfold"}))
      kept.insert(output.id);
  }
  auto without = [&](NodeRef& ref) {
    while (ref.id >= 0 && is_copy(ref.id) && kept.count(ref.id) == 0)
      ref = std::get<NodeRef>(nodes[ref.id].args[0].v);
  };
  for (Node& node : nodes) ForEachRef(node, without);
  for (NodeRef& output : program->outputs) without(output);
}

std::vector<bool> NeededNodes(const Program& program) {
  std::vector<bool> needed(program.nodes.size(), false);
  for (const NodeRef& output : program.outputs) {
    if (output.id >= 0) needed[output.id] = true;
  }
  for (size_t id = program.nodes.size(); id-- > 0;) {
    if (needed[id]) ForEachRef(program.nodes[id], [&](const NodeRef& ref) { needed[ref.id] = true; });
  }
  return needed;
}

void DropDead(Program* program) {
  std::vector<Node>& nodes = program->nodes;
  std::vector<bool> alive = NeededNodes(*program);
  for (size_t id = 0; id < nodes.size(); ++id) alive[id] = alive[id] || nodes[id].kind == NodeKind::kInput;
  auto rank = [&](NodeId id) {
    NodeKind kind = nodes[id].kind;
    return kind == NodeKind::kInput ? 0 : kind == NodeKind::kOp ? 3 : kind == NodeKind::kConstant ? 2 : 1;
  };
  std::vector<NodeId> order;
  for (size_t id = 0; id < nodes.size(); ++id) {
    if (alive[id]) order.push_back(static_cast<NodeId>(id));
  }
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return rank(a) < rank(b); });
  std::vector<NodeId> renamed(nodes.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) renamed[order[i]] = static_cast<NodeId>(i);
  std::vector<Node> kept;
  for (NodeId id : order) {
    kept.push_back(std::move(nodes[id]));
    ForEachRef(kept.back(), [&](NodeRef& ref) { ref.id = renamed[ref.id]; });
  }
  for (NodeRef& output : program->outputs) {
    if (output.id >= 0) output.id = renamed[output.id];
  }
  for (NodeId& update : program->updates) update = renamed[update];
  nodes = std::move(kept);
}

}  // namespace tritogen
