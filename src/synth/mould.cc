#include "synth/mould.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "program/infer.h"

namespace tritogen::synth {
namespace {

std::vector<std::string> OpenAttributes(const SketchStep& step) {
  std::vector<std::string> names;
  for (const ShapeVariable& variable : step.shapes.variables) {
    if (variable.role == ShapeVariable::Role::kAttribute &&
        std::ranges::count(names, variable.attribute) == 0)
      names.push_back(variable.attribute);
  }
  return names;
}

// The attribute with items that no default has.
Arg NoDefault(const Arg& arg) {
  constexpr int64_t kUnlikeAny = 1'000'003;
  const Arg::List* list = AsList(arg);
  return list == nullptr ? Arg{kUnlikeAny} : IntsArg(std::vector<int64_t>(list->size(), kUnlikeAny));
}

// As ShapeText writes it.
void AppendShape(const Shape& shape, std::string* text) {
  *text += DtypeName(shape.dtype);
  *text += '[';
  char digits[24];
  bool first = true;
  for (int64_t size : shape.sizes) {
    if (!first) *text += ", ";
    first = false;
    text->append(digits, std::to_chars(digits, std::end(digits), size).ptr);
  }
  *text += ']';
}

}  // namespace

Mould::Mould(Sketch sketch)
    : sketch_(std::move(sketch)), refs_(sketch_.tensors.size()), shape_texts_(sketch_.tensors.size()) {
  for (size_t t = 0; t < sketch_.tensors.size(); ++t) {
    if (sketch_.tensors[t].input >= 0) AddInput(static_cast<int>(t));
  }
  steps_.resize(sketch_.steps.size());
  for (size_t s = 0; s < steps_.size(); ++s) AddStep(s);
  Program& program = sized_.program;
  const std::vector<int> outputs = sketch_.Outputs();
  for (int tensor : outputs) program.outputs.push_back(refs_[tensor]);
  for (size_t i = 0; i < outputs.size(); ++i) program.structure += i == 0 ? "*" : ",*";
  if (outputs.size() > 1) program.structure = "(" + program.structure + ")";
  input_ = LabelOf({.kind = NodeKind::kInput}, Detail::kSizes);
  wiring_ = std::make_unique<Wiring>(program);
  labels_.resize(wiring_->nodes.size());
}

void Mould::AddInput(int tensor) {
  const int input = sketch_.tensors[tensor].input;
  Program& program = sized_.program;
  refs_[tensor] = {static_cast<NodeId>(program.nodes.size())};
  const InputValues& may = sketch_.inputs[input].values;
  sized_.inputs.push_back({may.low, may.high, may.nonzero, may.indexed_step >= 0});
  program.nodes.push_back({.kind = NodeKind::kInput,
                           .name = fmt::format("x{}", input),
                           .results = {Shape{sketch_.tensors[tensor].dtype, {}}}});
  tensors_.push_back({tensor});
  step_of_.push_back(-1);
}

void Mould::AddStep(size_t number) {
  const SketchStep& step = sketch_.steps[number];
  Program& program = sized_.program;
  Step& made = steps_[number];
  made.call = {step.row, step.signature, step.args};
  made.node = static_cast<int>(program.nodes.size());
  made.open = !OpenAttributes(step).empty();
  any_open_ |= made.open;
  Node node{.op = "aten::" + step.signature->name};
  for (size_t r = 0; r < step.results.size(); ++r) {
    refs_[step.results[r]] = {made.node, static_cast<int>(r)};
    node.results.push_back({sketch_.tensors[step.results[r]].dtype, {}});
  }
  program.nodes.push_back(std::move(node));
  tensors_.push_back(step.results);
  step_of_.push_back(static_cast<int>(number));
  SetCall(number);
}

void Mould::SetCall(size_t number) {
  Step& step = steps_[number];
  Node& node = sized_.program.nodes[step.node];
  SetArgs(*step.call.signature, step.call.args, &node);
  ForEachRef(node, [&](NodeRef& ref) { ref = refs_[sketch_.steps[number].operands[ref.id]]; });
  step.sizes = LabelOf(node, Detail::kSizes);
  step.graph = LabelOf(node, Detail::kGraph);
}

void Mould::Pour(const SketchSystem& system, const std::vector<int64_t>& values) {
  Shapes(system, values);
  if (any_open_) Attributes(system, values);
  AddFlops();
}

void Mould::Shapes(const SketchSystem& system, const std::vector<int64_t>& values) {
  sized_.bytes = 0;
  for (size_t n = 0; n < tensors_.size(); ++n) {
    Node& node = sized_.program.nodes[n];
    for (size_t r = 0; r < tensors_[n].size(); ++r) {
      const int tensor = tensors_[n][r];
      Shape& shape = node.results[r];
      shape.sizes.clear();
      for (Var var : system.tensors[tensor]) shape.sizes.push_back(values[var]);
      sized_.bytes += static_cast<double>(shape.numel()) * static_cast<double>(DtypeSize(shape.dtype));
      shape_texts_[tensor].clear();
      AppendShape(shape, &shape_texts_[tensor]);
    }
    if (node.kind != NodeKind::kInput || !sized_.inputs[n].indices) continue;
    const InputValues& may = sketch_.inputs[sketch_.tensors[tensors_[n][0]].input].values;
    const int of = sketch_.steps[may.indexed_step].operands[may.indexed_operand];
    sized_.inputs[n].low = 0;
    sized_.inputs[n].high = static_cast<double>(values[system.tensors[of].at(may.indexed_axis)]);
  }
}

void Mould::Attributes(const SketchSystem& system, const std::vector<int64_t>& values) {
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (steps_[s].open) steps_[s].call.args = sketch_.steps[s].args;
  }
  SetAttributes(system, values, [&](int step) { return &steps_[step].call.args; });
  outdated_.clear();
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (!steps_[s].open) continue;
    SetCall(s);
    outdated_.push_back(steps_[s].node);
  }
}

void Mould::AddFlops() {
  sized_.flops = 0;
  for (size_t s = 0; s < steps_.size(); ++s) {
    const std::vector<Node>& nodes = sized_.program.nodes;
    const std::vector<int>& operands = sketch_.steps[s].operands;
    const ShapeLookup shape_of = [&](NodeRef ref) -> const Shape& {
      const NodeRef& at = refs_[operands[ref.id]];
      return nodes[at.id].results[at.result];
    };
    sized_.flops += CostOf(steps_[s].call, shape_of, nodes[steps_[s].node].results).flops;
  }
}

const std::string& Mould::GraphFingerprint() {
  if (one_graph() && !graph_fingerprint_.empty()) return graph_fingerprint_;
  bool same = !graph_fingerprint_.empty();
  graph_labels_.resize(labels_.size());
  for (size_t i = 0; i < labels_.size(); ++i) {
    const int step = step_of_[wiring_->nodes[i]];
    const std::string& text = step < 0 ? input_.text : steps_[step].graph.text;
    same = same && graph_labels_[i] == text;
    graph_labels_[i] = text;
  }
  if (same) return graph_fingerprint_;
  for (size_t i = 0; i < labels_.size(); ++i) {
    const int step = step_of_[wiring_->nodes[i]];
    labels_[i] = step < 0 ? input_ : steps_[step].graph;
  }
  return graph_fingerprint_ = FingerprintOf(*wiring_, labels_);
}

// An operation's label hangs on which of its open attributes equal their defaults.
std::vector<Label> Mould::GraphLabels(size_t number) const {
  const SketchStep& step = sketch_.steps[number];
  std::vector<std::string> may;  // those that have a default
  for (const std::string& name : OpenAttributes(step)) {
    if (step.signature->Find(name)->otherwise) may.push_back(name);
  }
  std::vector<Label> labels;
  for (uint32_t which = 0; which < (1u << may.size()); ++which) {
    BoundArgs args = step.args;
    for (size_t i = 0; i < may.size(); ++i) {
      Arg* arg = args.Find(may[i]);
      *arg = (which >> i & 1) != 0 ? NoDefault(*arg) : *step.signature->Find(may[i])->otherwise;
    }
    Node node{.op = sized_.program.nodes[steps_[number].node].op};
    SetArgs(*step.signature, args, &node);
    Label label = LabelOf(node, Detail::kGraph);
    if (std::ranges::count(labels, label.text, &Label::text) == 0) labels.push_back(std::move(label));
  }
  return labels;
}

std::optional<std::vector<std::string>> Mould::GraphFingerprints(size_t most) {
  if (one_graph()) return std::vector{GraphFingerprint()};
  std::vector<std::vector<Label>> choices;  // by step
  size_t graphs = 1;
  for (size_t s = 0; s < steps_.size(); ++s) {
    choices.push_back(steps_[s].open ? GraphLabels(s) : std::vector{steps_[s].graph});
    graphs *= choices.back().size();
    if (graphs > most) return std::nullopt;
  }
  std::vector<std::string> all;
  for (size_t graph = 0; graph < graphs; ++graph) {
    size_t rest = graph;
    std::vector<size_t> choice;
    for (const std::vector<Label>& labels : choices) {
      choice.push_back(rest % labels.size());
      rest /= labels.size();
    }
    for (size_t i = 0; i < labels_.size(); ++i) {
      const int step = step_of_[wiring_->nodes[i]];
      labels_[i] = step < 0 ? input_ : choices[step][choice[step]];
    }
    all.push_back(FingerprintOf(*wiring_, labels_));
  }
  return all;
}

std::string Mould::SizesFingerprint() {
  for (size_t i = 0; i < labels_.size(); ++i) {
    const int node = wiring_->nodes[i], step = step_of_[node];
    labels_[i] = step < 0 ? input_ : steps_[step].sizes;
    for (int tensor : tensors_[node]) {
      labels_[i].Append(" ");
      labels_[i].Append(shape_texts_[tensor]);
    }
  }
  return FingerprintOf(*wiring_, labels_);
}

std::string Mould::Text() {
  if (text_ == nullptr)
    text_ = std::make_unique<TextParts>(sized_.program);
  else
    for (size_t node : outdated_) text_->Update(node);
  return text_->Text([&](size_t node, std::string* text) {
    bool first = true;
    for (int tensor : tensors_[node]) {
      if (!first) *text += ", ";
      first = false;
      *text += shape_texts_[tensor];
    }
  });
}

}  // namespace tritogen::synth
