#include "program/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tritogen {
namespace {

int Category(Dtype dtype) {
  return dtype == Dtype::kBool ? 0 : IsFloating(dtype) ? 2 : 1;
}

// What a number alone is.
Dtype DtypeOfNumber(const Arg& arg) {
  return std::holds_alternative<bool>(arg.v)      ? Dtype::kBool
         : std::holds_alternative<int64_t>(arg.v) ? Dtype::kInt64
                                                  : Dtype::kFloat32;
}

// PyTorch's type promotion: tensors with dimensions come before those without, these before numbers; the
// lower ones count only where they are of a higher category (bool, integer, floating point).
class Promotion {
 public:
  void AddTensor(const Shape& shape) { Add(shape.dtype, shape.sizes.empty() ? 1 : 0); }
  void AddNumber(const Arg& number) { Add(DtypeOfNumber(number), 2); }

  Dtype Result() const {
    std::optional<Dtype> result;
    for (const auto& level : levels_) {
      if (!level) continue;
      if (!result || Category(*level) > Category(*result)) result = level;
    }
    return result.value_or(Dtype::kFloat32);
  }

 private:
  void Add(Dtype dtype, int level) {
    auto& held = levels_[level];
    held = held ? PromotedDtype(*held, dtype) : dtype;
  }
  std::optional<Dtype> levels_[3];
};

// Numbers that take part in promotion; others (alpha, value, beta) only scale.
bool IsOperand(std::string_view param) {
  constexpr std::string_view kNames[] = {"self", "other", "exponent", "min", "max"};
  return std::find(std::begin(kNames), std::end(kNames), param) != std::end(kNames);
}

Dtype FirstDtype(const OpCall& call, const ShapeLookup& shape_of) {
  std::optional<Dtype> first;
  for (const auto& [name, arg] : call.args.all()) {
    ForEachRef(arg, [&](NodeRef ref) { first = first.value_or(shape_of(ref).dtype); });
    if (first) break;
  }
  return first.value_or(Dtype::kFloat32);
}

Dtype Promoted(const OpCall& call, const ShapeLookup& shape_of, bool without_first) {
  Promotion promotion;
  for (const Param& param : call.signature->params) {
    const Arg& arg = call.args[param.name];
    if (without_first && &param == &call.signature->params[0]) continue;
    ForEachRef(arg, [&](NodeRef ref) { promotion.AddTensor(shape_of(ref)); });
    const bool number = AsNumber(arg) || std::holds_alternative<bool>(arg.v);
    if (number && call.row->kind == OpClass::kPointwise && IsOperand(param.name)) promotion.AddNumber(arg);
  }
  return promotion.Result();
}

Dtype CreatedDtype(const OpCall& call) {
  const std::string& name = call.row->name;
  if (name == "full") return DtypeOfNumber(call.args["fill_value"]);
  if (name != "arange") return Dtype::kFloat32;
  bool integers = true;
  for (const char* number : {"start", "end", "step"}) {
    const Arg& arg = call.args[number];
    integers &= IsNone(arg) || AsInt(arg).has_value();
  }
  return integers ? Dtype::kInt64 : Dtype::kFloat32;
}

Dtype DtypeOf(const OpCall& call, const ShapeLookup& shape_of, int result) {
  const Dtypes rule = call.row->DtypeOf(result);
  if (rule == Dtypes::kBool) return Dtype::kBool;
  if (rule == Dtypes::kIndex) return Dtype::kInt64;
  if (rule == Dtypes::kInt32) return Dtype::kInt32;
  if (const auto* given = std::get_if<Dtype>(&call.args["dtype"].v)) return *given;
  switch (rule) {
    case Dtypes::kPromoted:
      return Promoted(call, shape_of, false);
    case Dtypes::kSelected:
      return Promoted(call, shape_of, true);
    case Dtypes::kFloat: {
      const Dtype dtype = Promoted(call, shape_of, false);
      return IsFloating(dtype) ? dtype : Dtype::kFloat32;
    }
    case Dtypes::kWideInt: {
      const Dtype dtype = FirstDtype(call, shape_of);
      return IsFloating(dtype) ? dtype : Dtype::kInt64;
    }
    case Dtypes::kCreated:
      return CreatedDtype(call);
    default:
      return FirstDtype(call, shape_of);
  }
}

double Count(const Shape& shape) {
  double count = 1;
  for (int64_t size : shape.sizes) count *= static_cast<double>(size);
  return count;
}

Terms Numbers(const Shape& shape) {
  Terms sizes;
  for (int64_t size : shape.sizes) sizes.push_back(Term::Of(size));
  return sizes;
}

// The call's tensors as 0, 1, … and their sizes.
struct Renamed {
  BoundArgs args;
  std::vector<Terms> tensors;
  std::vector<Shape> shapes;
};
Renamed Rename(const OpCall& call, const ShapeLookup& shape_of) {
  Renamed renamed;
  for (const auto& [name, arg] : call.args.all()) {
    Arg copy = arg;
    ForEachRef(copy, [&](NodeRef& ref) {
      renamed.shapes.push_back(shape_of(ref));
      renamed.tensors.push_back(Numbers(renamed.shapes.back()));
      ref = {static_cast<NodeId>(renamed.tensors.size() - 1), 0};
    });
    renamed.args.Add(name, std::move(copy));
  }
  return renamed;
}

const Shape* Operand(const OpCall& call, const ShapeLookup& shape_of, std::string_view name) {
  const NodeRef* ref = AsRef(call.args[name]);
  return ref == nullptr ? nullptr : &shape_of(*ref);
}

double LastSize(const Shape& shape) {
  return shape.sizes.empty() ? 1 : static_cast<double>(shape.sizes.back());
}

// The first factor of a product: `self` or, where that is added to the product, mat1 or batch1.
double ContractedSize(const OpCall& call, const ShapeLookup& shape_of) {
  for (const char* name : {"mat1", "batch1", "input", "self"}) {
    if (const Shape* shape = Operand(call, shape_of, name)) return LastSize(*shape);
  }
  return 1;
}

double ConvolutionWork(const OpCall& call, const ShapeLookup& shape_of, double outputs) {
  const Shape* input = Operand(call, shape_of, "input");
  const Shape* weight = Operand(call, shape_of, "weight");
  if (input == nullptr || weight == nullptr || weight->sizes.empty()) return 0;
  const bool transposed =
      call.row->name.starts_with("conv_transpose") || AsBool(call.args["transposed"], false);
  const double channels = std::max<double>(1, static_cast<double>(weight->sizes[0]));
  return (transposed ? Count(*input) : outputs) * Count(*weight) / channels;
}

// Both products and max, subtract, exp, sum, divide for each score.
double AttentionWork(const OpCall& call, const ShapeLookup& shape_of) {
  const Shape *q = Operand(call, shape_of, "query"), *k = Operand(call, shape_of, "key"),
              *v = Operand(call, shape_of, "value");
  if (q == nullptr || k == nullptr || v == nullptr || k->sizes.size() < 2) return 0;
  const double rows = Count(*q) / std::max(1.0, LastSize(*q));
  const double keys = static_cast<double>(k->sizes[k->sizes.size() - 2]);
  return rows * keys * (2 * LastSize(*q) + 2 * LastSize(*v) + 5);
}

double RecurrentWork(const OpCall& call, const ShapeLookup& shape_of) {
  const Shape* input = Operand(call, shape_of, "input");
  if (input == nullptr || input->sizes.size() != 3) return 0;
  double weights = 0;
  ForEachRef(call.args["params"], [&](NodeRef ref) {
    if (shape_of(ref).sizes.size() == 2) weights += Count(shape_of(ref));
  });
  return static_cast<double>(input->sizes[0] * input->sizes[1]) * weights;
}

}  // namespace

ShapeLookup LookupIn(const Program& program) {
  return [&program](NodeRef ref) -> const Shape& { return program.nodes.at(ref.id).results.at(ref.result); };
}

Dtype PromotedDtype(Dtype a, Dtype b) {
  if (a == b) return a;
  if (Category(a) != Category(b)) return Category(a) > Category(b) ? a : b;
  if (IsFloating(a)) {
    const bool halves = DtypeSize(a) <= 2 && DtypeSize(b) <= 2;
    return halves ? Dtype::kFloat32 : DtypeSize(a) > DtypeSize(b) ? a : b;
  }
  const bool a_unsigned = DtypeName(a).starts_with('u'), b_unsigned = DtypeName(b).starts_with('u');
  if (a_unsigned == b_unsigned) return DtypeSize(a) > DtypeSize(b) ? a : b;
  const Dtype with = a_unsigned ? b : a;  // a signed type that holds both
  const size_t need = DtypeSize(a_unsigned ? a : b) * 2;
  if (DtypeSize(with) >= need) return with;
  return need == 2 ? Dtype::kInt16 : need == 4 ? Dtype::kInt32 : Dtype::kInt64;
}

Inferred InferResults(const OpCall& call, const ShapeLookup& shape_of) {
  const Renamed renamed = Rename(call, shape_of);
  const KnownShapes known = ShapesOf(
      {.row = call.row, .signature = call.signature, .args = &renamed.args, .tensors = renamed.tensors});
  Inferred inferred{{}, known.problem};
  if (!known.problem.empty()) return inferred;
  for (size_t i = 0; i < known.results.size(); ++i) {
    const int column = call.signature->results < 0 ? 0 : static_cast<int>(i);
    inferred.results.push_back({DtypeOf(call, shape_of, column), known.results[i]});
  }
  return inferred;
}

std::vector<std::string> ProblemsOf(const Program& program) {
  std::vector<std::string> problems;
  const ShapeLookup shape_of = LookupIn(program);
  for (const Node& node : program.nodes) {
    if (node.kind != NodeKind::kOp) continue;
    auto call = BindCall(node);
    if (!call) {
      problems.push_back(fmt::format("{} is not in the catalogue with these arguments", node.op));
      continue;
    }
    const Inferred inferred = InferResults(*call, shape_of);
    if (!inferred.problem.empty()) problems.push_back(fmt::format("{}: {}", node.op, inferred.problem));
    for (size_t i = 0; i < inferred.results.size(); ++i) {
      if (i < node.results.size() && !(inferred.results[i] == node.results[i]))
        problems.push_back(
            fmt::format("{}: result {} has another dtype or shape than its rule says", node.op, i));
    }
  }
  return problems;
}

Cost CostOf(const OpCall& call, const ShapeLookup& shape_of, const std::vector<Shape>& results) {
  double outputs = 0, first = 0, operand_bytes = 0;
  for (const Shape& result : results) outputs += Count(result);
  bool any = false;
  for (const auto& [name, arg] : call.args.all()) {
    ForEachRef(arg, [&](NodeRef ref) {
      const Shape& shape = shape_of(ref);
      if (!any) first = Count(shape);
      any = true;
      operand_bytes += Count(shape) * static_cast<double>(DtypeSize(shape.dtype));
    });
  }
  const double factor = call.row->flops.factor;
  Cost cost;
  switch (call.row->flops.count) {
    case FlopCount::kResults:
      cost.flops = factor * outputs;
      break;
    case FlopCount::kFirst:
      cost.flops = factor * first;
      break;
    case FlopCount::kProduct:
      cost.flops = factor * outputs * ContractedSize(call, shape_of);
      break;
    case FlopCount::kConvolution:
      cost.flops = factor * ConvolutionWork(call, shape_of, outputs);
      break;
    case FlopCount::kAttention:
      cost.flops = factor * AttentionWork(call, shape_of);
      break;
    case FlopCount::kSort:
      cost.flops = factor * first * std::log2(std::max(2.0, first));
      break;
    case FlopCount::kRecurrent:
      cost.flops = factor * RecurrentWork(call, shape_of);
      break;
    case FlopCount::kNothing:
      return cost;
  }
  cost.bytes = operand_bytes;
  for (const Shape& shape : results) cost.bytes += Count(shape) * DtypeSize(shape.dtype);
  return cost;
}

Cost CostOf(const Program& program) {
  Cost total;
  const ShapeLookup shape_of = LookupIn(program);
  for (const Node& node : program.nodes) {
    if (node.kind != NodeKind::kOp) continue;
    auto call = BindCall(node);
    if (!call) continue;
    const Cost cost = CostOf(*call, shape_of, node.results);
    total.flops += cost.flops;
    total.bytes += cost.bytes;
  }
  return total;
}

}  // namespace tritogen
