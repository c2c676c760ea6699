#include "synth/shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "program/infer.h"

namespace tritogen::synth {
namespace {

constexpr int64_t kLargestSize = int64_t{1} << 20;  // of one derived dimension
constexpr int kFirstOfImage = 2;                    // dimension behind batch and channels
constexpr int64_t kSmallRange = 64;                 // a range of integers that is listed as it is

class SystemMaker {
 public:
  SystemMaker(const Sketch& sketch, const ShapeOptions& options) : sketch_(sketch), options_(options) {}

  SketchSystem Make() {
    out_.tensors.resize(sketch_.tensors.size());
    for (size_t t = 0; t < sketch_.tensors.size(); ++t) {
      const SketchTensor& tensor = sketch_.tensors[t];
      const bool image = IsImage(static_cast<int>(t));
      for (int axis = 0; tensor.input >= 0 && axis < tensor.rank; ++axis) {
        const Domain& sizes = image && axis >= kFirstOfImage ? options_.image_sizes : options_.sizes;
        out_.tensors[t].push_back(out_.system.Add(fmt::format("x{}[{}]", tensor.input, axis), sizes));
      }
    }
    for (size_t step = 0; step < sketch_.steps.size(); ++step) AddStep(static_cast<int>(step));
    for (size_t t = 0; t < sketch_.tensors.size(); ++t) {
      const int64_t size = static_cast<int64_t>(DtypeSize(sketch_.tensors[t].dtype));
      const int64_t most = std::min(options_.max_elements, options_.max_bytes / size);
      out_.system.Add(Bound{out_.tensors[t], 1, options_.min_elements, most});
    }
    return std::move(out_);
  }

 private:
  // What is convolved, pooled, normalised, …, as opposed to its weights.
  bool IsImage(int tensor) const {
    const auto takes = [&](const SketchStep& step) { return step.operands[0] == tensor; };
    return !options_.image_sizes.empty() && std::ranges::any_of(sketch_.steps, takes);
  }

  void AddStep(int number) {
    const SketchStep& step = sketch_.steps[number];
    vars_.clear();
    for (const ShapeVariable& variable : step.shapes.variables) vars_.push_back(Variable(number, variable));
    for (const Relation& relation : step.shapes.relations)
      std::visit([&](const auto& r) { Translate(step, r); }, relation);
    if (step.row->name == "group_norm") {  // PyTorch asks for two values a channel
      std::vector<Var> rest = out_.tensors[step.operands[0]];
      rest.erase(rest.begin() + 1);
      out_.system.Add(Bound{std::move(rest), 1, 2});
    }
    for (size_t r = 0; r < step.results.size(); ++r) {
      for (Term term : step.shapes.results[r]) out_.tensors[step.results[r]].push_back(VarOf(term));
    }
  }

  Var Variable(int number, const ShapeVariable& variable) {
    using Role = ShapeVariable::Role;
    const SketchStep& step = sketch_.steps[number];
    if (variable.role == Role::kOperand) {
      const Var var = out_.tensors[step.operands[variable.index]][variable.axis];
      if (variable.low > 1 || variable.high < kUnboundedSize)
        out_.system.Restrict(var, Domain::Interval(variable.low, variable.high));
      return var;
    }
    std::string name = fmt::format("{}{}.{}", step.row->name, number, variable.name);
    if (variable.role == Role::kAuxiliary) name += fmt::format("{}", vars_.size());  // several may be alike
    if (variable.role == Role::kAttribute) {
      const Var var = out_.system.Add(name, AttributeDomain(variable.low, variable.high));
      out_.attributes.push_back({number, variable.attribute, variable.axis, var});
      return var;
    }
    const int64_t most = variable.role == Role::kResult ? kLargestSize : options_.max_elements;
    return out_.system.Add(name, Domain::Interval(variable.low, std::min(variable.high, most)));
  }

  // An attribute of a wide range is a size or a place among sizes.
  Domain AttributeDomain(int64_t low, int64_t high) const {
    const Domain range = Domain::Interval(low, high);
    if (range.size() <= kSmallRange) return range;
    std::vector<int64_t> values{0};
    const Domain sizes = Listed(options_.sizes);
    for (int64_t value : sizes.Values()) values.push_back(value);
    return range.And(Domain::Of(values));
  }

  // Sizes that enter equations are listed one by one, so there must not be too many of them.
  static Domain Listed(const Domain& sizes) {
    return sizes.size() <= kSmallRange ? sizes : sizes.And(Domain::Common());
  }

  Var VarOf(Term term) {
    if (!term.known()) return vars_[term.var];
    return out_.system.Add(fmt::format("{}", term.number), Domain{term.number});
  }
  Operand OperandOf(Term term) const {
    return term.known() ? Operand(term.number) : Operand::Of(vars_[term.var]);
  }
  // A size in an equation.
  Var Tied(Term term) {
    const Var var = VarOf(term);
    const Domain domain = out_.system.variables()[var].domain;
    if (domain == options_.sizes || domain == options_.image_sizes) out_.system.Restrict(var, Listed(domain));
    return var;
  }
  // A number of a window. Of sizes, which kernels of convolutions are, few make sense.
  Operand OfWindow(const SketchStep& step, Term term) {
    if (term.known()) return Operand(term.number);
    const Var var = vars_[term.var];
    if (step.shapes.variables[term.var].role != ShapeVariable::Role::kAttribute &&
        out_.system.variables()[var].domain.size() > options_.windows.size())
      out_.system.Restrict(var, options_.windows);
    return Operand::Of(var);
  }

  void Translate(const SketchStep&, const relation::Equal& r) {
    out_.system.Add(Equal{VarOf(r.a), VarOf(r.b)});
  }
  void Translate(const SketchStep& step, const relation::Broadcast& r) {
    if (step.equal_sizes) {
      const Var out = VarOf(r.out);
      out_.system.Add(Equal{out, VarOf(r.a)});
      out_.system.Add(Equal{out, VarOf(r.b)});
    } else {
      out_.system.Add(Broadcast{VarOf(r.out), Tied(r.a), Tied(r.b)});
    }
  }
  void Translate(const SketchStep&, const relation::Product& r) {
    Product product;
    auto side = [&](const Terms& terms, std::vector<Var>* vars, int64_t* scale) {
      for (Term term : terms) {
        if (term.known())
          *scale = SaturatingProduct(*scale, term.number);
        else
          vars->push_back(Tied(term));
      }
    };
    side(r.left, &product.left, &product.left_scale);
    side(r.right, &product.right, &product.right_scale);
    out_.system.Add(std::move(product));
  }
  void Translate(const SketchStep&, const relation::Linear& r) {
    Linear linear{.terms = {}, .constant = r.constant, .at_most = r.at_most};
    for (const auto& [coefficient, term] : r.terms) {
      if (term.known())
        linear.constant += coefficient * term.number;
      else
        linear.terms.push_back({coefficient, Tied(term)});
    }
    out_.system.Add(std::move(linear));
  }
  void Translate(const SketchStep&, const relation::Divides& r) {
    if (!r.number.known()) Tied(r.number);
    out_.system.Add(Divides{OperandOf(r.divisor), OperandOf(r.number)});
  }
  void Translate(const SketchStep& step, const relation::Window& r) {
    auto of = [&](Term term) { return OfWindow(step, term); };
    out_.system.Add(
        Window{VarOf(r.out), Tied(r.in), of(r.kernel), of(r.stride), of(r.padding), of(r.dilation)});
  }
  void Translate(const SketchStep& step, const relation::TransposedWindow& r) {
    auto of = [&](Term term) { return OfWindow(step, term); };
    out_.system.Add(TransposedWindow{VarOf(r.out), Tied(r.in), of(r.kernel), of(r.stride), of(r.padding),
                                     of(r.dilation), of(r.extra)});
  }
  void Translate(const SketchStep&, const relation::InRange& r) {
    out_.system.Restrict(VarOf(r.term), Domain::Interval(r.low, r.high));
  }

  const Sketch& sketch_;
  const ShapeOptions& options_;
  SketchSystem out_;
  std::vector<Var> vars_;  // of the step at hand, by its local variable
};

}  // namespace

SketchSystem SystemOf(const Sketch& sketch, const ShapeOptions& options) {
  return SystemMaker(sketch, options).Make();
}

void SetAttributes(const SketchSystem& system, const std::vector<int64_t>& values,
                   const std::function<BoundArgs*(int step)>& args_of) {
  for (const SketchSystem::Attribute& attribute : system.attributes) {
    Arg* arg = args_of(attribute.step)->Find(attribute.name);
    TRITOGEN_CHECK(arg != nullptr);
    if (auto* list = std::get_if<Arg::List>(&arg->v)) {
      if (static_cast<int>(list->size()) <= attribute.item) list->resize(attribute.item + 1, (*list)[0]);
      (*list)[attribute.item] = Arg{values[attribute.var]};
    } else {
      *arg = Arg{values[attribute.var]};
    }
  }
}

SizedProgram ProgramOf(const Sketch& sketch, const SketchSystem& system, const std::vector<int64_t>& values) {
  SizedProgram out;
  std::vector<NodeRef> refs(sketch.tensors.size());
  auto shape = [&](int tensor) {
    Shape sized{sketch.tensors[tensor].dtype, {}};
    for (Var var : system.tensors[tensor]) sized.sizes.push_back(values[var]);
    out.bytes += static_cast<double>(sized.numel()) * static_cast<double>(DtypeSize(sized.dtype));
    return sized;
  };
  for (size_t t = 0; t < sketch.tensors.size(); ++t) {
    const int input = sketch.tensors[t].input;
    if (input < 0) continue;
    refs[t] = {static_cast<NodeId>(out.program.nodes.size())};
    const InputValues& may = sketch.inputs[input].values;
    SizedProgram::Values held{may.low, may.high, may.nonzero, may.indexed_step >= 0};
    if (held.indices) {
      const int of = sketch.steps[may.indexed_step].operands[may.indexed_operand];
      held.low = 0;
      held.high = static_cast<double>(values[system.tensors[of].at(may.indexed_axis)]);
    }
    out.inputs.push_back(held);
    out.program.nodes.push_back({.kind = NodeKind::kInput,
                                 .name = fmt::format("x{}", input),
                                 .results = {shape(static_cast<int>(t))}});
  }
  std::vector<BoundArgs> args;
  for (const SketchStep& step : sketch.steps) args.push_back(step.args);
  SetAttributes(system, values, [&](int step) { return &args[step]; });
  for (size_t s = 0; s < sketch.steps.size(); ++s) {
    const SketchStep& step = sketch.steps[s];
    Node node{.op = "aten::" + step.signature->name};
    for (size_t r = 0; r < step.results.size(); ++r) {
      refs[step.results[r]] = {static_cast<NodeId>(out.program.nodes.size()), static_cast<int>(r)};
      node.results.push_back(shape(step.results[r]));
    }
    SetArgs(*step.signature, args[s], &node);
    ForEachRef(node, [&](NodeRef& ref) { ref = refs[step.operands[ref.id]]; });
    const OpCall call{step.row, step.signature, args[s]};
    out.flops += CostOf(
                     call,
                     [&](NodeRef ref) -> const Shape& {
                       const NodeRef& at = refs[step.operands[ref.id]];
                       return out.program.nodes[at.id].results[at.result];
                     },
                     node.results)
                     .flops;
    out.program.nodes.push_back(std::move(node));
  }
  const std::vector<int> outputs = sketch.Outputs();
  for (int tensor : outputs) out.program.outputs.push_back(refs[tensor]);
  for (size_t i = 0; i < outputs.size(); ++i) out.program.structure += i == 0 ? "*" : ",*";
  if (outputs.size() > 1) out.program.structure = "(" + out.program.structure + ")";
  return out;
}

}  // namespace tritogen::synth
