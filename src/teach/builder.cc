#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "teach/count_text.h"
#include "teach/line_pieces.h"
#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

std::string_view ReduceName(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "total";
    case ReduceOp::kMax:
    case ReduceOp::kLargest:
      return "maximum";
    case ReduceOp::kMin:
    case ReduceOp::kSmallest:
      return "minimum";
    case ReduceOp::kProd:
      return "product";
    case ReduceOp::kArgMax:
      return "argmax";
    case ReduceOp::kArgMin:
      return "argmin";
    case ReduceOp::kOfRank:
      return "selected";
    case ReduceOp::kLogSumExp:
      return "log_sum";
    case ReduceOp::kSort:
      return "order";
  }
  return "";
}

// That take numbers for float32.
bool CallsFunctions(std::string_view expr) {
  return expr.find("libdevice.") != std::string_view::npos || expr.find("floored_") != std::string_view::npos;
}

// Index along a dimension of one element: a number where the expression takes one. A number has no methods,
// and an expression of numbers alone would be none of Triton's.
std::string WithNumbers(std::string expr, const std::vector<Value>& in) {
  std::string with = expr;
  bool variable = false;
  for (size_t i = 0; i < in.size(); ++i) {
    const std::string hole = fmt::format("{{{}}}", i);
    if (expr.find(hole) == std::string::npos) continue;
    const auto number = ConstantIndex(in[i].view);
    if (!number || expr.find(hole + ".") != std::string::npos) {
      variable = true;
    } else {
      const std::string digits = std::to_string(*number);
      with = ReplaceAll(with, hole, *number < 0 ? "(" + digits + ")" : digits);
    }
  }
  return variable ? with : expr;
}

}  // namespace

Value Builder::AddPointwise(Prim prim, const std::vector<Value>& in) {
  std::vector<std::vector<int64_t>> shapes = {prim.sizes};
  for (const Value& value : in) shapes.push_back(value.sizes());
  prim.sizes = BroadcastSizes(shapes);
  for (const Value& value : in) prim.operands.push_back(Expand(value.view, prim.sizes));
  if (prim.name != "cast") prim.held = ComputeDtype(prim.dtype);
  if (prim.origin.empty()) prim.origin = origin;
  // Arithmetic on element numbers alone is cheaper than memory.
  prim.inlined = prim.kind == PrimKind::kPointwise && !in.empty() &&
                 std::all_of(in.begin(), in.end(), [&](const Value& value) {
                   return value.view.prim == kElementNumber || graph[value.view.prim].inlined;
                 });
  Dtype dtype = prim.dtype;
  PrimId id = graph.Add(std::move(prim));
  return {graph.Whole(id), dtype};
}

Value Builder::Pointwise(std::string name, std::string expr, const std::vector<Value>& in, Dtype dtype,
                         double flops) {
  expr = WithNumbers(std::move(expr), in);
  Prim prim;
  prim.name = std::move(name);
  prim.expr = std::move(expr);
  prim.dtype = dtype;
  prim.flops = flops;
  for (const Value& value : in) prim.compute.push_back(ComputeDtype(value.dtype));
  return AddPointwise(std::move(prim), in);
}

Value Builder::Op(std::string_view op, const std::vector<In>& in, std::optional<Dtype> dtype) {
  const OpRow* row = FindOp(op);
  TRITOGEN_CHECK(row != nullptr && row->kind == OpClass::kPointwise);
  Node node;  // the call, with its tensors as references 0, 1, …
  std::vector<Value> values;
  for (const In& operand : in) {
    if (const auto* number = std::get_if<double>(&operand)) {
      node.args.push_back(Arg{*number});
    } else {
      node.args.push_back(Arg{NodeRef{static_cast<NodeId>(values.size())}});
      values.push_back(std::get<Value>(operand));
    }
  }
  auto call = BindCall(*row, node);
  TRITOGEN_CHECK(call && !values.empty());
  bool comparison = row->compute == Compute::kPromoted || row->name.starts_with("logical");
  Dtype result = dtype ? *dtype : comparison ? Dtype::kBool : ComputeDtype(values.back().dtype);
  return Apply(
      *row, call->args, [&](NodeRef ref) { return values[ref.id]; }, result);
}

Value Builder::Apply(const OpRow& row, const BoundArgs& args, const std::function<Value(NodeRef)>& get,
                     Dtype result) {
  std::vector<Value> values;
  std::vector<std::string> params;           // of the tensors
  std::map<std::string, double> filled;      // of tensors that hold one number throughout
  std::vector<std::vector<int64_t>> shapes;  // theirs
  std::optional<Dtype> promoted;
  bool any = false;  // tensor to load
  for (const auto& [name, arg] : args.all()) any |= AsRef(arg) != nullptr && !IsFilled(get(*AsRef(arg)));
  for (const auto& [name, arg] : args.all()) {
    const NodeRef* ref = AsRef(arg);
    if (ref == nullptr) continue;
    Value value = get(*ref);
    promoted = promoted ? PromoteTypes(*promoted, value.dtype) : value.dtype;
    if (auto found = fill_.find(value.view.prim); any && found != fill_.end()) {
      filled[name] = found->second;
      shapes.push_back(value.sizes());
      continue;
    }
    values.push_back(value);
    params.push_back(name);
  }
  TRITOGEN_CHECK(!values.empty());
  std::optional<Dtype> compute;
  if (row.compute == Compute::kResult) compute = ComputeDtype(result);
  if (row.compute == Compute::kPromoted) compute = ComputeDtype(*promoted);
  auto chosen =
      std::find_if(row.cases.begin(), row.cases.end(), [&](const OpCase& c) { return args.Holds(c.when); });
  std::string expr(chosen->triton);
  for (const auto& [name, arg] : args.all()) {
    auto at = std::find(params.begin(), params.end(), name);
    auto number = filled.count(name) > 0 ? std::optional(filled[name]) : AsNumber(arg);
    std::string text = at != params.end() ? fmt::format("{{{}}}", at - params.begin())
                       : number && (filled.count(name) > 0 || (compute && IsFloating(*compute)))
                           ? PythonLiteral(Arg{*number})
                           : PythonLiteral(arg);
    if (number && at == params.end() && CallsFunctions(expr) &&
        (compute ? *compute : ComputeDtype(values[0].dtype)) == Dtype::kFloat64)
      text = fmt::format("tl.full([], {}, tl.float64)", text);  // by itself it would be a float32 there
    expr = ReplaceAll(expr, "{" + name + "}", text);
  }
  Prim prim;
  prim.name = row.name;
  prim.expr = std::move(expr);
  prim.flops = row.flops.factor;
  prim.dtype = result;
  prim.sizes = BroadcastSizes(shapes);
  for (size_t i = 0; i < values.size(); ++i) {
    // A condition selects; it is not converted.
    bool condition = params[i] == "condition" || params[i] == "mask";
    prim.compute.push_back(condition ? Dtype::kBool : compute ? *compute : ComputeDtype(values[i].dtype));
  }
  return AddPointwise(std::move(prim), values);
}

static bool IsNarrowInteger(Dtype dtype) {
  return dtype == Dtype::kInt8 || dtype == Dtype::kUint8 || dtype == Dtype::kInt16;
}

Value Builder::Cast(const Value& in, Dtype dtype) {
  if (in.dtype == dtype) return in;
  std::string to = dtype == Dtype::kBool ? "{0} != 0" : fmt::format("{{0}}.to(tl.{})", DtypeName(dtype));
  // tl spells the 8-bit formats in its own way.
  to = ReplaceAll(ReplaceAll(to, "tl.float8_e4m3fn", "tl.float8e4nv"), "tl.float8_e5m2", "tl.float8e5");
  // What is too large for 8 or 16 bits keeps its last ones, as in PyTorch.
  if (IsFloating(in.dtype) && IsNarrowInteger(dtype)) to = ReplaceAll(to, ".to(", ".to(tl.int32).to(");
  Prim prim;
  prim.name = "cast";
  prim.expr = to;
  prim.dtype = prim.held = dtype;
  prim.compute = {ComputeDtype(in.dtype)};
  return AddPointwise(std::move(prim), {in});
}

Value Builder::Once(std::string name, const Value& in) {
  TRITOGEN_CHECK(in.view.prim >= 0 && in.view.IsContiguous());
  graph.prims[in.view.prim].once = true;
  graph.prims[in.view.prim].name = std::move(name);
  return in;
}

Value Builder::Reduce(ReduceOp op, const Value& in, std::vector<int64_t> dims, bool keepdim) {
  int rank = in.view.rank();
  const std::vector<bool> reduced = MarkedDims(dims, rank);
  std::vector<int64_t> kept_sizes, final_sizes;
  int64_t columns = 1;
  for (int i = 0; i < rank; ++i) {
    if (reduced[i]) columns *= in.sizes()[i];
    if (!reduced[i]) kept_sizes.push_back(in.sizes()[i]);
    if (!reduced[i] || keepdim) final_sizes.push_back(reduced[i] ? 1 : in.sizes()[i]);
  }
  Dtype dtype = IsPlace(op) ? Dtype::kInt64 : ComputeDtype(in.dtype);
  if (columns == 1) return IsPlace(op) ? Fill(final_sizes, dtype, Arg{int64_t{0}}) : Reshape(in, final_sizes);
  if (const auto result = ReduceInPieces(op, in, reduced)) return Reshape(*result, final_sizes);
  Prim prim;
  prim.kind = PrimKind::kReduce;
  prim.name = ReduceName(op);
  prim.origin = origin;
  prim.dtype = prim.held = dtype;
  prim.sizes = kept_sizes;
  prim.operands = {in.view};
  prim.compute = {ComputeDtype(in.dtype)};
  prim.reduce = op;
  prim.space = in.sizes();
  prim.reduced = reduced;
  prim.flops = 1;
  View view = graph.Whole(graph.Add(std::move(prim)));
  return Reshape({view, dtype}, final_sizes);
}

std::vector<int64_t> CountedSizes(const std::vector<int64_t>& sizes, const std::vector<int64_t>& dims) {
  const std::vector<bool> marked = MarkedDims(dims, static_cast<int64_t>(sizes.size()));
  std::vector<int64_t> counted = sizes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!marked[i]) counted[i] = 1;
  }
  return counted;
}

Value Builder::Mean(const Value& in, const std::vector<int64_t>& dims, bool keepdim) {
  return DividedByCount("mean", Reduce(ReduceOp::kSum, in, dims, keepdim), CountedSizes(in.sizes(), dims));
}

// As IEEE says: tl's own quotients of float32 may be off in the last place, and what equal numbers differ by
// from their mean would not be zero. Those by powers of two are right.
Value Builder::DividedByCount(std::string name, const Value& sum, const std::vector<int64_t>& factors,
                              int64_t correction) {
  const int64_t count = Product(factors) - correction;
  std::string text = CountText(factors);
  const bool one_number = correction == 0 && text.find('*') == std::string::npos;
  if (correction != 0) text += fmt::format(" - {}", correction);
  if (one_number) text += ".0";
  const bool rounds = sum.dtype == Dtype::kFloat32 && (count & (count - 1)) != 0;
  const char* form = rounds ? "tl.div_rn({{0}}, {})" : one_number ? "{{0}} / {}" : "{{0}} / ({})";
  return Pointwise(std::move(name), fmt::format(fmt::runtime(form), text), {sum}, sum.dtype, 1);
}

void Builder::RoundQuotient(const Value& of) {
  if (of.view.prim < 0 || of.dtype != Dtype::kFloat32) return;
  Prim& quotient = graph.prims[of.view.prim];
  constexpr std::string_view kDivided = "{0} / ";
  const std::string& by = quotient.expr;
  const bool simple = by.starts_with(kDivided) && by.find(' ', kDivided.size()) == std::string::npos;
  if (quotient.kind != PrimKind::kPointwise || !simple) return;
  if (std::ranges::any_of(quotient.compute, [](Dtype dtype) { return dtype != Dtype::kFloat32; })) return;
  quotient.expr = fmt::format("tl.div_rn({{0}}, {})", by.substr(kDivided.size()));
  for (const View& operand : quotient.operands) RoundQuotient({operand, Dtype::kFloat32});
}

Value Builder::Scan(ReduceOp op, const Value& in, int64_t dim, bool backwards) {
  // A new tensor all the same.
  if (in.sizes()[WrapDim(dim, in.view.rank())] == 1) return Pointwise("copy", "{0}", {in}, in.dtype, 0);
  Prim prim;
  prim.kind = PrimKind::kScan;
  prim.name = op == ReduceOp::kSort ? "in_order" : fmt::format("running_{}", ReduceName(op));
  prim.origin = origin;
  prim.dtype = prim.held = ComputeDtype(in.dtype);
  prim.sizes = prim.space = in.sizes();
  prim.operands = {in.view};
  prim.compute = {prim.dtype};
  prim.reduce = op;
  prim.backwards = backwards;
  prim.reduced.assign(in.sizes().size(), false);
  prim.reduced[WrapDim(dim, in.view.rank())] = true;
  prim.flops = 1;
  Dtype dtype = prim.dtype;
  return {graph.Whole(graph.Add(std::move(prim))), dtype};
}

Value Builder::Reshape(const Value& in, const std::vector<int64_t>& sizes) {
  if (auto view = teach::Reshape(in.view, sizes)) return {*view, in.dtype};
  Value copy = Pointwise("copy", "{0}", {in}, in.dtype, 0);
  return {*teach::Reshape(copy.view, sizes), in.dtype};
}

Value Builder::Index(const std::vector<int64_t>& sizes, int64_t dim) {
  View view{kElementNumber, 0, sizes, std::vector<int64_t>(sizes.size(), 0), {}};
  view.strides[WrapDim(dim, view.rank())] = 1;
  return {view, Dtype::kInt32};
}

Value Builder::Tensor(const BoundArgs& args, std::string_view name) const {
  const NodeRef* ref = AsRef(args[name]);
  TRITOGEN_CHECK(ref != nullptr);
  return Get(*ref);
}

}  // namespace tritogen::teach
