#include <fmt/format.h>

#include <algorithm>

#include <cmath>
#include <numeric>

#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

struct Dims {
  std::vector<int64_t> dims;  // all of them when the call names none
  bool keepdim;
};

Dims DimsOf(const BoundArgs& args, int rank) {
  std::vector<int64_t> dims = AsInts(args["dim"]).value_or(std::vector<int64_t>{});
  if (dims.empty()) {
    dims.resize(rank);
    std::iota(dims.begin(), dims.end(), 0);
  }
  return {dims, AsBool(args["keepdim"], false)};
}

// `correction` is taken off the count.
struct MeanAndVariance {
  Value mean, variance;
};
MeanAndVariance VarianceOf(Builder& b, const Value& x, const Dims& d, const std::vector<int64_t>& sizes,
                           double correction) {
  const Moments moments = MomentsOf(b, x, d.dims);
  const Value &mean = moments.mean, squares = b.Reshape(moments.spread, sizes);
  const int64_t count = x.view.numel() / std::max<int64_t>(squares.view.numel(), 1);
  const auto less = static_cast<int64_t>(correction);
  const bool whole = static_cast<double>(less) == correction && less >= 0 && less < count;
  Value variance =
      whole ? b.DividedByCount("div", squares, CountedSizes(x.sizes(), d.dims), less)
            : b.Op("div", {squares, std::max(0.0, static_cast<double>(count) - correction)}, mean.dtype);
  return {b.Reshape(mean, squares.sizes()), variance};
}

bool LowerVariance(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  Value x = b.Tensor(args, "self");
  if (!IsFloating(x.dtype)) return false;
  double correction = AsNumber(args["correction"]).value_or(AsBool(args["unbiased"], true) ? 1 : 0);
  const auto m = VarianceOf(b, x, DimsOf(args, x.view.rank()), node.results[0].sizes, correction);
  Value result = op.starts_with("std") ? b.Op("sqrt", {m.variance}) : m.variance;
  b.Return(op.starts_with("var_mean") ? std::vector<Value>{result, m.mean} : std::vector<Value>{result});
  return true;
}

bool LowerVectorNorm(Builder& b, const Node& node, const BoundArgs& args) {
  Value x = b.Tensor(args, "self");
  if (!IsFloating(x.dtype)) return false;
  if (node.results[0].dtype == Dtype::kFloat64) x = b.Cast(x, Dtype::kFloat64);  // dtype=
  double p = AsNumber(args["ord"]).value_or(AsNumber(args["p"]).value_or(2));
  Dims d = DimsOf(args, x.view.rank());
  if (p == 2) {
    Value squares = b.Op("square", {x});
    b.Return({b.Op("sqrt", {b.Reduce(ReduceOp::kSum, squares, d.dims, d.keepdim)})});
    return true;
  }
  Value magnitude = b.Op("abs", {x});
  if (p == 1) {
    b.Return({b.Reduce(ReduceOp::kSum, magnitude, d.dims, d.keepdim)});
  } else if (std::isinf(p)) {
    b.Return({b.Reduce(p > 0 ? ReduceOp::kMax : ReduceOp::kMin, magnitude, d.dims, d.keepdim)});
  } else if (p != 0) {
    Value sum = b.Reduce(ReduceOp::kSum, b.Op("pow", {magnitude, p}), d.dims, d.keepdim);
    b.Return({b.Op("pow", {sum, 1 / p})});
  } else {  // how many elements are not zero
    Value counted = b.Pointwise("counted", "tl.where({0} != 0, 1.0, 0.0)", {x}, ComputeDtype(x.dtype), 1);
    b.Return({b.Reduce(ReduceOp::kSum, counted, d.dims, d.keepdim)});
  }
  return true;
}

// Whether pointwise work may make NaN of numbers.
bool MayBeNan(const Graph& graph, PrimId id, int steps = 4) {
  if (id < 0 || steps == 0 || graph[id].kind != PrimKind::kPointwise) return false;
  for (const char* risk : {"tl.log", "libdevice.log", "sqrt(", "pow(", " / ", "acos", "asin"}) {
    if (graph[id].expr.find(risk) != std::string::npos) return true;
  }
  return std::ranges::any_of(graph[id].operands,
                             [&](const View& view) { return MayBeNan(graph, view.prim, steps - 1); });
}

// Dimensions are kept. What is infinite throughout, or has one element that is, has no distances from it.
Value LogSumExp(Builder& b, const Value& x, const std::vector<int64_t>& dims) {
  if (IsCut(b, x, dims) && !IsMadeOfProduct(b.graph, x.view)) {
    const SoftmaxParts parts = Softmax(b, x, dims);
    return b.Op("add", {b.Op("log", {parts.sum}), parts.maximum});
  }
  Value maximum = b.Reduce(ReduceOp::kLargest, x, dims, true);
  Value shift =
      b.Pointwise("shift", "tl.where(tl.abs({0}) == float(\"inf\"), 0.0, {0})", {maximum}, maximum.dtype, 1);
  Value exponentials = b.Op("exp", {b.Op("sub", {x, shift}, shift.dtype)});
  return b.Op("add", {b.Op("log", {b.Reduce(ReduceOp::kSum, exponentials, dims, true)}), shift});
}

bool LowerExtremum(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  Value x = b.Tensor(args, "self");
  if (x.dtype == Dtype::kFloat64) return false;
  if (x.dtype == Dtype::kBool) x = b.Cast(x, Dtype::kInt32);  // Fits() makes truth values of it again
  bool largest = op.find("max") != std::string_view::npos;
  Dims d = DimsOf(args, x.view.rank());
  if (op.starts_with("arg")) {
    // Without a dimension the index counts the flattened elements.
    b.Return({PlaceOfExtremum(b, x, largest, d.dims, d.keepdim)});
    return true;
  }
  Value value = b.Reduce(largest ? ReduceOp::kMax : ReduceOp::kMin, x, d.dims, d.keepdim);
  std::vector<Value> results = {value};
  if (node.results.size() == 2) {
    results.push_back(PlaceOfExtremum(b, x, largest, d.dims, d.keepdim));
  }
  b.Return(std::move(results));
  return true;
}

}  // namespace

bool IsMadeOfProduct(const Graph& graph, const View& view, int steps) {
  if (view.prim < 0 || steps == 0 || view.numel() != Product(graph[view.prim].sizes)) return false;
  const Prim& prim = graph[view.prim];
  if (prim.kind == PrimKind::kMatmul) return true;
  return prim.kind == PrimKind::kPointwise && std::ranges::any_of(prim.operands, [&](const View& operand) {
           return IsMadeOfProduct(graph, operand, steps - 1);
         });
}

// Of a logarithm, say, a line may be NaN throughout: Triton's comparisons would then name a place behind its
// end. PyTorch takes the first NaN for the extremum, so infinity is left to them.
Value PlaceOfExtremum(Builder& b, Value x, bool largest, const std::vector<int64_t>& dims, bool keepdim) {
  if (IsFloating(x.dtype) && MayBeNan(b.graph, x.view.prim)) {
    const char* ordered =
        largest ? "tl.where({0} == {0}, tl.minimum({0}, 3.4028234663852886e+38), float(\"inf\"))"
                : "tl.where({0} == {0}, tl.maximum({0}, -3.4028234663852886e+38), float(\"-inf\"))";
    x = b.Pointwise("ordered", ordered, {x}, ComputeDtype(x.dtype), 2);
  }
  return b.Reduce(largest ? ReduceOp::kArgMax : ReduceOp::kArgMin, x, dims, keepdim);
}

Value SafeWeights(Builder& b, const SoftmaxParts& parts) {
  Value weights = b.Op("div", {parts.exponentials, parts.sum});
  return b.Pointwise("weights", "tl.where({0} == float(\"-inf\"), 0.0, {1})", {parts.maximum, weights},
                     weights.dtype, 1);
}

bool LowerReduction(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  if (op.starts_with("var") || op.starts_with("std")) return LowerVariance(b, node, op, args);
  if (op == "norm" || op == "linalg_vector_norm") return LowerVectorNorm(b, node, args);
  Value x = b.Tensor(args, "self");
  Dims d = DimsOf(args, x.view.rank());
  if (op == "any" || op == "all") {
    Value truth = b.Cast(b.Cast(x, Dtype::kBool), Dtype::kInt32);
    Value result = b.Reduce(op == "any" ? ReduceOp::kMax : ReduceOp::kMin, truth, d.dims, d.keepdim);
    b.Return({b.Cast(result, Dtype::kBool)});
    return true;
  }
  if (op == "sum" || op == "prod" || op == "mean") {
    Value in =
        IsFloating(node.results[0].dtype) && IsFloating(x.dtype) ? x : b.Cast(x, node.results[0].dtype);
    if (op == "mean") {
      b.Return({b.Mean(in, d.dims, d.keepdim)});
    } else {
      b.Return({b.Reduce(op == "sum" ? ReduceOp::kSum : ReduceOp::kProd, in, d.dims, d.keepdim)});
    }
    return true;
  }
  if (op == "logsumexp") {
    if (!IsFloating(x.dtype)) x = b.Cast(x, node.results[0].dtype);
    b.Return({b.Reshape(LogSumExp(b, x, d.dims), node.results[0].sizes)});
    return true;
  }
  return LowerExtremum(b, node, op, args);
}

}  // namespace tritogen::teach
