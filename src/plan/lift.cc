#include "plan/lift.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "plan/lift_setup.h"
#include "plan/lift_views.h"
#include "plan/visit.h"
#include "program/canonical.h"
#include "program/catalogue.h"
#include "program/literal.h"

namespace tritogen {
namespace {

constexpr NodeRef kNoValue{-1, 0};

// Writes whose values do not come from their arguments alone, or that change sizes: they keep their names.
bool HasFunctionalForm(std::string_view base) {
  static const std::unordered_set<std::string_view> kNone = {
      "aten::normal_",     "aten::uniform_",   "aten::bernoulli_",  "aten::exponential_", "aten::random_",
      "aten::geometric_",  "aten::cauchy_",    "aten::log_normal_", "aten::dropout_",     "aten::resize_",
      "aten::set_",        "aten::transpose_", "aten::t_",          "aten::squeeze_",     "aten::unsqueeze_",
      "aten::as_strided_", "aten::swapaxes_",  "aten::swapdims_"};
  return IsInPlace(base) && !kNone.count(base);
}

class Lifter {
 public:
  explicit Lifter(const Plan& plan) : plan_(plan), values_(plan.tensors.size(), kNoValue) {}

  Program Build() {
    int index = 0;
    ForEachTensor(plan_.inputs, [&](TensorId id) {
      if (values_[id] == kNoValue) {
        values_[id] = Leaf(NodeKind::kInput, fmt::format("x{}", index), id);
        inputs_.emplace_back(id, values_[id]);
      }
      ++index;
    });
    for (const StateEntry& entry : plan_.state) {
      NodeKind kind = entry.is_parameter ? NodeKind::kParameter : NodeKind::kBuffer;
      if (!(values_[entry.tensor] == kNoValue)) continue;
      values_[entry.tensor] = Leaf(kind, entry.name, entry.tensor);
      state_.emplace_back(entry.tensor, values_[entry.tensor]);
    }
    FindSetupMakers();
    LiftNameless();
    for (const Step& step : plan_.run) {
      std::visit([&](const auto& s) { LiftStep(s); }, step);
    }
    for (const Value& output : plan_.outputs) {
      const auto* tensor = std::get_if<TensorRef>(&output.v);
      program_.outputs.push_back(tensor ? Read(tensor->id) : kNoValue);
    }
    program_.structure = plan_.structure;
    FindUpdates();
    DropCopies(&program_);
    DropDead(&program_);
    Canonicalise(&program_);
    return std::move(program_);
  }

 private:
  // A view keeps its base and the version of the base's value that its own value was taken from.
  struct View {
    TensorId base;
    const AtenStep* step;
    int version;
    int depth;
  };

  // What the call leaves in its inputs, and in state that its results depend on: the next call has to find it
  // there. Other state (running statistics, numbers of batches) changes no answer.
  void FindUpdates() {
    for (const auto& [id, leaf] : inputs_) Update(id, leaf);
    for (bool more = true; more;) {
      more = false;
      const std::vector<bool> needed = NeededNodes(program_);
      for (const auto& [id, leaf] : state_) more |= needed[leaf.id] && Update(id, leaf);
    }
  }

  // Whether the call leaves another value there than the leaf's, which is noted once.
  bool Update(TensorId id, NodeRef leaf) {
    const NodeRef now = Read(id);
    if (now == leaf || std::ranges::count(program_.updates, leaf.id) > 0) return false;
    program_.updates.push_back(leaf.id);
    program_.outputs.push_back(now);
    return true;
  }

  NodeRef Leaf(NodeKind kind, std::string name, TensorId id) {
    Node node;
    node.kind = kind;
    node.name = std::move(name);
    node.results = {ShapeOf(id)};
    return Append(std::move(node));
  }

  NodeRef Append(Node node) {
    program_.nodes.push_back(std::move(node));
    return {static_cast<NodeId>(program_.nodes.size() - 1), 0};
  }

  Shape ShapeOf(TensorId id) const { return {plan_.tensors[id].dtype, plan_.tensors[id].sizes}; }

  void FindSetupMakers() {
    for (size_t i = 0; i < plan_.setup.size(); ++i) {
      const Step& step = plan_.setup[i];
      int index = static_cast<int>(i);
      bool is_launch = std::holds_alternative<LaunchStep>(step);
      std::unordered_set<TensorId> used;
      ForEachUse(step, [&](TensorId id) {
        used.insert(id);
        if (is_launch) last_write_[plan_.tensors[id].storage] = index;
      });
      ForEachResult(step, [&](TensorId id) {
        if (used.count(id)) last_write_[plan_.tensors[id].storage] = index;
        makers_.try_emplace(id, index);
      });
    }
  }

  // What the call reads of set-up and nobody has a name for it makes itself, where it can.
  void LiftNameless() {
    std::unordered_set<TensorId> nameless;
    const auto read = [&](TensorId id) {
      const bool of_setup = values_[id] == kNoValue && makers_.count(id) > 0 && !IsRooted(id);
      if (of_setup && std::ranges::find(plan_.unsaved, id, &StateEntry::tensor) == plan_.unsaved.end())
        nameless.insert(id);
    };
    for (const Step& step : plan_.run) ForEachUse(step, read);
    ForEachTensor(plan_.outputs, read);
    for (const Step* step : MakersInSetup(plan_, nameless)) {
      std::visit([&](const auto& s) { LiftStep(s); }, *step);
    }
  }

  int LastWrite(TensorId id) const {
    auto found = last_write_.find(plan_.tensors[id].storage);
    return found == last_write_.end() ? -1 : found->second;
  }

  // The tensor's value now: a stale view is taken again from its base.
  NodeRef Read(TensorId id) {
    auto view = views_.find(id);
    if (view != views_.end() && view->second.version != versions_[view->second.base]) {
      NodeRef base = Read(view->second.base);
      view->second.version = versions_[view->second.base];
      values_[id] = IsIdentity(plan_, *view->second.step)
                        ? base
                        : AppendAten(*view->second.step, view->second.step->op);
      ++versions_[id];
    }
    if (values_[id] == kNoValue) values_[id] = FromSetup(id);
    return values_[id];
  }

  // The set-up step from whose source the tensor still has its value: a view, or a copy that nobody changed
  // since.
  const AtenStep* FaithfulMaker(TensorId id) const {
    auto maker = makers_.find(id);
    if (maker == makers_.end()) return nullptr;
    const auto* aten = std::get_if<AtenStep>(&plan_.setup[maker->second]);
    if (!aten) return nullptr;
    if (ViewedTensor(plan_, *aten) != kNoTensor) return aten;
    if (!IsIdentity(plan_, *aten)) return nullptr;
    TensorId source = std::get<TensorRef>(aten->args[0].v).id;
    return LastWrite(source) < maker->second && LastWrite(id) < 0 ? aten : nullptr;
  }

  bool IsConstant(TensorId id) const {
    auto maker = makers_.find(id);
    return maker != makers_.end() && std::holds_alternative<ConstantStep>(plan_.setup[maker->second]) &&
           LastWrite(id) < 0;
  }

  // Does the way back from a set-up tensor through views and copies end in state or in a constant?
  bool IsRooted(TensorId id) const {
    for (int hops = 0; hops < kMostDepth; ++hops) {
      if (!(values_[id] == kNoValue) || IsConstant(id)) return true;
      const AtenStep* maker = FaithfulMaker(id);
      if (!maker) return false;
      id = std::get<TensorRef>(maker->args[0].v).id;
    }
    return false;
  }

  // Of what only set-up knows how to make.
  std::string NameOf(TensorId id) const {
    const auto named = std::ranges::find(plan_.unsaved, id, &StateEntry::tensor);
    return named == plan_.unsaved.end() ? fmt::format("setup_{}", id) : named->name;
  }

  // What set-up left: a value that stood in the file, a view or copy of state, or something else it made.
  NodeRef FromSetup(TensorId id) {
    if (IsConstant(id)) return Leaf(NodeKind::kConstant, fmt::format("constant_{}", id), id);
    const AtenStep* maker = IsRooted(id) ? FaithfulMaker(id) : nullptr;
    if (!maker) return Leaf(NodeKind::kBuffer, NameOf(id), id);
    NodeRef source = Read(std::get<TensorRef>(maker->args[0].v).id);
    NodeRef value = IsIdentity(plan_, *maker) ? source : AppendAten(*maker, maker->op);
    NoteView(*maker);
    return value;
  }

  Arg Convert(const Value& value) {
    if (const auto* b = std::get_if<bool>(&value.v)) return {*b};
    if (const auto* i = std::get_if<int64_t>(&value.v)) return {*i};
    if (const auto* d = std::get_if<double>(&value.v)) return {*d};
    if (const auto* s = std::get_if<std::string>(&value.v)) return {*s};
    if (const auto* t = std::get_if<TensorRef>(&value.v)) return {Read(t->id)};
    if (const auto* dtype = std::get_if<Dtype>(&value.v)) return {*dtype};
    if (const auto* list = std::get_if<Value::List>(&value.v)) {
      Arg::List out;
      for (const Value& item : *list) out.push_back(Convert(item));
      return {std::move(out)};
    }
    return {};  // nothing, or a device, layout or memory format
  }

  static bool IsPlacement(const Value& value) {
    return std::holds_alternative<DeviceValue>(value.v) || std::holds_alternative<LayoutValue>(value.v) ||
           std::holds_alternative<MemoryFormatValue>(value.v);
  }

  NodeRef AppendAten(const AtenStep& step, std::string op) {
    Node node;
    node.op = std::move(op);
    for (const Value& value : step.args) node.args.push_back(Convert(value));
    for (const auto& [name, value] : step.kwargs) {
      if (!IsPlacement(value) && name != "pin_memory" && name != "non_blocking")
        node.kwargs.emplace_back(name, Convert(value));
    }
    for (TensorId id : step.outs) node.results.push_back(id == kNoTensor ? Shape{} : ShapeOf(id));
    return Append(std::move(node));
  }

  // The same value in memory of its own.
  NodeRef AppendCopy(NodeRef source, Shape shape) {
    Node copy;
    copy.op = "aten::clone";
    copy.args = {{source}};
    copy.results = {std::move(shape)};
    return Append(std::move(copy));
  }

  void LiftStep(const AtenStep& step) {
    if (IsIdentity(plan_, step)) {
      const TensorRef& source = std::get<TensorRef>(step.args[0].v);
      const bool copy = ViewedTensor(plan_, step) == kNoTensor;
      values_[step.outs[0]] = copy ? AppendCopy(Read(source.id), ShapeOf(step.outs[0])) : Read(source.id);
      NoteView(step);
      return;
    }
    TensorId written = WrittenTensor(step);
    if (written != kNoTensor) return LiftWrite(step, written);
    NodeRef node = AppendAten(step, step.op);
    for (size_t i = 0; i < step.outs.size(); ++i) {
      TensorId id = step.outs[i];
      if (id == kNoTensor) continue;
      bool again = !(values_[id] == kNoValue);  // an argument written in place among several results
      NodeRef value{node.id, static_cast<int>(i)};
      again ? Write(id, value) : void(values_[id] = value);
    }
    if (std::vector<AtenStep> several = ViewsOneByOne(plan_, step); !several.empty()) {
      for (AtenStep& view : several) NoteView(one_by_one_.emplace_back(std::move(view)));
    } else {
      NoteView(step);
    }
  }

  void LiftStep(const ConstantStep& step) {
    values_[step.out] = Leaf(NodeKind::kConstant, fmt::format("constant_{}", step.out), step.out);
  }

  void LiftStep(const LaunchStep& step) {
    Node node;
    node.op = "launch";
    node.name = plan_.kernels[step.variants[0].kernel].name;
    std::vector<TensorId> tensors;
    ForEachUse(Step(LaunchStep{{step.variants[0]}, step.line}), [&](TensorId id) {
      tensors.push_back(id);
      node.args.push_back({Read(id)});
      node.results.push_back(ShapeOf(id));
    });
    NodeRef launch = Append(std::move(node));
    for (size_t i = 0; i < tensors.size(); ++i) Write(tensors[i], {launch.id, static_cast<int>(i)});
  }

  void LiftWrite(const AtenStep& step, TensorId written) {
    std::string_view base = WithoutOverload(step.op);
    const bool fills_with_tensor =
        base == "aten::fill_" && step.args.size() == 2 && std::holds_alternative<TensorRef>(step.args[1].v);
    if (base == "aten::copy_" || fills_with_tensor) return Write(written, Copied(step, written));
    std::string op = step.op;
    if (HasFunctionalForm(base) && KeepsDtype(step, written)) op.erase(base.size() - 1, 1);
    if (base == "aten::zero_") op = "aten::zeros_like";
    if (base == "aten::fill_") op = "aten::full_like";
    Write(written, AppendAten(step, op));
  }

  // In place, the result keeps the dtype of the tensor written; a functional form would promote.
  bool KeepsDtype(const AtenStep& step, TensorId written) const {
    bool keeps = true;
    ForEachUse(Step(step), [&](TensorId id) {
      Dtype dtype = plan_.tensors[id].dtype;
      keeps &= dtype == plan_.tensors[written].dtype || (!IsFloating(dtype) && !IsComplex(dtype));
    });
    return keeps;
  }

  NodeRef Copied(const AtenStep& step, TensorId written) {
    const auto* source = step.args.size() > 1 ? std::get_if<TensorRef>(&step.args[1].v) : nullptr;
    if (!source) return AppendAten(step, step.op);
    NodeRef value = Read(source->id);
    Shape from = ShapeOf(source->id), to = ShapeOf(written);
    if (from.dtype != to.dtype) {
      Node cast;
      cast.op = "aten::_to_copy";
      cast.args = {{value}};
      cast.kwargs = {{"dtype", {to.dtype}}};
      cast.results = {{to.dtype, from.sizes}};
      value = Append(std::move(cast));
    }
    if (from.sizes != to.sizes) {
      Node expand;
      expand.op = "aten::expand";
      Arg::List sizes;
      for (int64_t size : to.sizes) sizes.push_back({size});
      expand.args = {{value}, {std::move(sizes)}};
      expand.results = {to};
      value = Append(std::move(expand));
    }
    return AppendCopy(value, to);  // what was written to stays memory of its own
  }

  void NoteView(const AtenStep& step) {
    TensorId base = ViewedTensor(plan_, step);
    if (base == kNoTensor) return;
    auto outer = views_.find(base);
    int depth = outer == views_.end() ? 1 : outer->second.depth + 1;
    if (depth > kMostDepth) throw FormatError("views of views nest too deeply");
    views_[step.outs[0]] = {base, &step, versions_[base], depth};
  }

  // The tensor has a new value; so have the tensors that it views. Other views become stale.
  void Write(TensorId id, NodeRef value) {
    values_[id] = value;
    ++versions_[id];
    auto view = views_.find(id);
    if (view == views_.end()) return;
    TensorId base = view->second.base;
    const AtenStep& step = *view->second.step;
    NodeRef new_base = value;
    if (!IsIdentity(plan_, step)) {
      auto inverse = InverseOfView(step, plan_.tensors[base], Read(base), value);
      if (!inverse) inverse = OpaqueWrite(step, base, value);
      new_base = Append(std::move(*inverse));
    }
    Write(base, new_base);
    views_[id].version = versions_[base];
  }

  // A write through a view that has no simple inverse: named so that no reader takes it for something it
  // knows.
  Node OpaqueWrite(const AtenStep& view, TensorId base, NodeRef value) {
    Node node;
    node.op = "write_through_";
    node.name = view.op;
    node.args = {{Read(base)}, {value}};
    node.results = {ShapeOf(base)};
    return node;
  }

  static constexpr int kMostDepth = 256;

  const Plan& plan_;
  Program program_;
  std::vector<NodeRef> values_;                               // by tensor id
  std::vector<std::pair<TensorId, NodeRef>> inputs_, state_;  // as they are before the call
  std::unordered_map<TensorId, View> views_;
  std::deque<AtenStep> one_by_one_;  // views among these that one step has made together
  std::unordered_map<TensorId, int> versions_;
  std::unordered_map<TensorId, int> makers_;       // step of set-up that made the tensor
  std::unordered_map<StorageId, int> last_write_;  // step of set-up that last wrote in place
};

}  // namespace

Program Lift(const Plan& reference) {
  return Lifter(reference).Build();
}

}  // namespace tritogen
