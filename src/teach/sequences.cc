#include "teach/sequences.h"

#include <algorithm>
#include <numeric>

#include "teach/view.h"

namespace tritogen::teach {

std::optional<Element> ElementOf(const ProgramEdit& edit, NodeRef ref) {
  const OpCall* call = edit.CallOf(ref.id);
  if (call == nullptr || (call->row->name != "select" && call->row->name != "unbind")) return std::nullopt;
  const NodeRef* self = AsRef(call->args["self"]);
  if (self == nullptr) return std::nullopt;
  const auto& sizes = edit.ShapeOf(*self).sizes;
  const int64_t dim = WrapDim(AsInt(call->args["dim"]).value_or(0), static_cast<int64_t>(sizes.size()));
  int64_t index = call->row->name == "select" ? AsInt(call->args["index"]).value_or(0) : ref.result;
  if (index < 0) index += sizes[dim];
  return Element{*self, dim, index};
}

bool IsPlainAddmm(const OpCall& addmm) {
  return AsNumber(addmm.args["beta"]).value_or(1) == 1 && AsNumber(addmm.args["alpha"]).value_or(1) == 1;
}

namespace {

constexpr size_t kFewestSteps = 3;  // fewer are no loop

// Operators that may work on all steps at once, and which argument moves with these.
constexpr std::pair<std::string_view, int> kAlongSteps[] = {
    {"linear", 0}, {"mm", 0},      {"addmm", 1},       {"embedding", 1},
    {"cat", 0},    {"softmax", 0}, {"log_softmax", 0}, {"layer_norm", 0}};

Arg RefArg(NodeRef ref) {
  return Arg{ref};
}

class Sequences {
 public:
  explicit Sequences(ProgramEdit& edit) : edit_(edit) {}

  std::optional<NodeRef> Of(const std::vector<NodeRef>& values) {
    if (values.size() < kFewestSteps) return std::nullopt;
    if (auto whole = OfElements(values)) return whole;
    return OfOperations(values);
  }

 private:
  std::vector<int64_t> Sizes(const std::vector<NodeRef>& values) const {
    std::vector<int64_t> sizes = edit_.ShapeOf(values[0]).sizes;
    sizes.insert(sizes.begin(), static_cast<int64_t>(values.size()));
    return sizes;
  }
  Shape ShapeOf(const std::vector<NodeRef>& values) const {
    return {edit_.ShapeOf(values[0]).dtype, Sizes(values)};
  }

  std::optional<NodeRef> OfElements(const std::vector<NodeRef>& values) {
    const auto steps = static_cast<int64_t>(values.size());
    const auto first = ElementOf(edit_, values[0]), second = ElementOf(edit_, values[1]);
    if (!first || !second) return std::nullopt;
    const int64_t step = second->index - first->index;
    if (step != 1 && step != -1) return std::nullopt;
    for (int64_t i = 0; i < steps; ++i) {
      const auto element = ElementOf(edit_, values[i]);
      if (!element || !(element->of == first->of) || element->dim != first->dim ||
          element->index != first->index + i * step)
        return std::nullopt;
    }
    NodeRef all = first->of;
    Shape shape = edit_.ShapeOf(all);
    const int64_t start = step == 1 ? first->index : first->index - steps + 1;
    if (steps != shape.sizes[first->dim]) {
      shape.sizes[first->dim] = steps;
      all = edit_.Add("aten::narrow", {RefArg(all), Arg{first->dim}, Arg{start}, Arg{steps}}, shape);
    }
    if (step == -1) all = edit_.Add("aten::flip", {RefArg(all), IntsArg({first->dim})}, shape);
    if (first->dim == 0) return all;
    std::vector<int64_t> dims(shape.sizes.size());
    std::iota(dims.begin(), dims.end(), 0);
    std::rotate(dims.begin(), dims.begin() + first->dim, dims.begin() + first->dim + 1);
    return edit_.Add("aten::permute", {RefArg(all), IntsArg(dims)}, ShapeOf(values));
  }

  // By one operator whose other arguments are the same at each step, which works on all steps at once.
  std::optional<NodeRef> OfOperations(const std::vector<NodeRef>& values) {
    const Node first = edit_[values[0].id];
    if (first.kind != NodeKind::kOp || first.results.size() != 1) return std::nullopt;
    const OpCall* call = edit_.CallOf(values[0].id);
    if (call == nullptr) return std::nullopt;
    const std::string name = call->row->name;
    const bool pointwise = call->row->kind == OpClass::kPointwise && name != "prelu";
    const auto moving = std::ranges::find(kAlongSteps, name, [](const auto& one) { return one.first; });
    if (!pointwise && moving == std::end(kAlongSteps)) return std::nullopt;
    for (NodeRef value : values) {
      const Node& node = edit_[value.id];
      if (node.op != first.op || node.args.size() != first.args.size() || node.kwargs != first.kwargs ||
          node.results != first.results)
        return std::nullopt;
    }
    Node all = first;
    for (size_t i = 0; i < first.args.size(); ++i) {
      const auto arg = AllOf(values, i, pointwise, pointwise ? -1 : moving->second);
      if (!arg) return std::nullopt;
      all.args[i] = *arg;
      const auto dim = AsInt(*arg);
      if (!pointwise && IsDim(*call, i) && dim && *dim >= 0) all.args[i] = Arg{*dim + 1};
    }
    if (all.args == first.args) return std::nullopt;  // nothing in it moves with the steps
    all.results = {ShapeOf(values)};
    if (name == "mm") all.op = "aten::matmul";
    if (name == "addmm" && !BecomeLinear(*edit_.CallOf(values[0].id), &all)) return std::nullopt;
    return NodeRef{edit_.Add(std::move(all)), 0};
  }

  // addmm, which takes no steps in front, as linear. False where it is not one.
  bool BecomeLinear(const OpCall& addmm, Node* node) const {
    const NodeRef *bias = AsRef(node->args[0]), *matrix = AsRef(node->args[2]);
    const OpCall* turned = matrix == nullptr ? nullptr : edit_.CallOf(matrix->id, "t");
    if (bias == nullptr || turned == nullptr || edit_.ShapeOf(*bias).sizes.size() != 1 ||
        !IsPlainAddmm(addmm))
      return false;
    node->op = "aten::linear";
    node->args = {node->args[1], turned->args["self"], node->args[0]};
    node->kwargs.clear();
    return true;
  }

  // The argument of an operation on all steps; `only`: the one that may move with them, -1 for any.
  std::optional<Arg> AllOf(const std::vector<NodeRef>& values, size_t number, bool pointwise, int only) {
    const Arg& first = edit_[values[0].id].args[number];
    bool same = true;
    for (NodeRef value : values) same &= edit_[value.id].args[number] == first;
    const auto rank = edit_.ShapeOf(values[0]).sizes.size();
    if (same) {
      const NodeRef* ref = AsRef(first);
      const bool broadcasts = ref == nullptr || !pointwise || edit_.ShapeOf(*ref).sizes.size() <= rank;
      return broadcasts && only != static_cast<int>(number) ? std::optional(first) : std::nullopt;
    }
    if (only >= 0 && only != static_cast<int>(number)) return std::nullopt;
    if (AsList(first) != nullptr) return ListOf(values, number);
    std::vector<NodeRef> refs;
    for (NodeRef value : values) {
      const NodeRef* ref = AsRef(edit_[value.id].args[number]);
      if (ref == nullptr || !(edit_.ShapeOf(*ref) == edit_.ShapeOf(refs.empty() ? *ref : refs[0])))
        return std::nullopt;
      if (pointwise && edit_.ShapeOf(*ref).sizes.size() != rank) return std::nullopt;
      refs.push_back(*ref);
    }
    const auto all = Of(refs);
    return all ? std::optional(RefArg(*all)) : std::nullopt;
  }

  // The same of a list of tensors, each of which moves.
  std::optional<Arg> ListOf(const std::vector<NodeRef>& values, size_t number) {
    Arg::List all;
    const size_t count = AsList(edit_[values[0].id].args[number])->size();
    for (size_t item = 0; item < count; ++item) {
      std::vector<NodeRef> refs;
      for (NodeRef value : values) {
        const Arg::List* list = AsList(edit_[value.id].args[number]);
        const NodeRef* ref = list == nullptr || list->size() != count ? nullptr : AsRef((*list)[item]);
        if (ref == nullptr || !(edit_.ShapeOf(*ref) == edit_.ShapeOf(refs.empty() ? *ref : refs[0])))
          return std::nullopt;
        refs.push_back(*ref);
      }
      const auto whole = Of(refs);
      if (!whole) return std::nullopt;
      all.push_back(RefArg(*whole));
    }
    return Arg{std::move(all)};
  }

  static bool IsDim(const OpCall& call, size_t number) {
    return number < call.signature->params.size() && call.signature->params[number].name == "dim";
  }

  ProgramEdit& edit_;
};

// What stack or cat of a sequence is: the sequence with the steps in another place, and, for cat, joined with
// the dimension there.
NodeRef PutTogether(ProgramEdit& edit, NodeRef all, int64_t dim, const Shape& result) {
  Shape shape = edit.ShapeOf(all);
  std::vector<int64_t> dims(shape.sizes.size());
  std::iota(dims.begin(), dims.end(), 0);
  std::rotate(dims.begin(), dims.begin() + 1, dims.begin() + dim + 1);
  Shape turned = shape;
  for (size_t i = 0; i < dims.size(); ++i) turned.sizes[i] = shape.sizes[dims[i]];
  if (dim > 0) all = edit.Add("aten::permute", {RefArg(all), IntsArg(dims)}, turned);
  if (turned.sizes != result.sizes)
    return edit.Add("aten::reshape",
                    {RefArg(edit.Add("aten::clone", {RefArg(all)}, turned)), IntsArg(result.sizes)}, result);
  return edit.Add("aten::clone", {RefArg(all)}, result);  // a new tensor, as before
}

}  // namespace

std::optional<NodeRef> SequenceOf(ProgramEdit& edit, const std::vector<NodeRef>& values) {
  return Sequences(edit).Of(values);
}

NodeRef StackOf(ProgramEdit& edit, const std::vector<NodeRef>& values) {
  if (const auto all = SequenceOf(edit, values)) return *all;
  Shape shape = edit.ShapeOf(values[0]);
  shape.sizes.insert(shape.sizes.begin(), static_cast<int64_t>(values.size()));
  return edit.Add("aten::stack", {ListArg(values), Arg{int64_t{0}}}, shape);
}

bool TakeWholeSequences(ProgramEdit& edit) {
  ProgramEdit::Places places;
  for (NodeId id = 0, end = static_cast<NodeId>(edit.program().nodes.size()); id < end; ++id) {
    const OpCall* call = edit.CallOf(id);
    if (call == nullptr || (call->row->name != "stack" && call->row->name != "cat")) continue;
    const bool stack = call->row->name == "stack";
    const Shape result = edit.ShapeOf({id, 0});
    const int64_t dim =
        WrapDim(AsInt(call->args["dim"]).value_or(0), static_cast<int64_t>(result.sizes.size()));
    std::vector<NodeRef> values;
    for (const Arg& item : *AsList(call->args["tensors"])) {
      const NodeRef* ref = AsRef(item);
      if (ref == nullptr || !(edit.ShapeOf(*ref) == edit.ShapeOf(values.empty() ? *ref : values[0]))) break;
      values.push_back(*ref);
    }
    if (values.size() != AsList(call->args["tensors"])->size() || values.empty()) continue;
    if (result.dtype != edit.ShapeOf(values[0]).dtype) continue;
    std::vector<NodeRef> bare;  // of what cat gets as (…, 1, …): then it is a stack
    for (NodeRef value : values) {
      const OpCall* one = stack ? nullptr : edit.CallOf(value.id, "unsqueeze");
      if (one == nullptr ||
          WrapDim(AsInt(one->args["dim"]).value_or(0), static_cast<int64_t>(result.sizes.size())) != dim)
        break;
      bare.push_back(*AsRef(one->args["self"]));
    }
    const auto all = SequenceOf(edit, bare.size() == values.size() ? bare : values);
    if (all) places.emplace_back(NodeRef{id, 0}, PutTogether(edit, *all, dim, result));
  }
  edit.Replace(places);
  return !places.empty();
}

}  // namespace tritogen::teach
