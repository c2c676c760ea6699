// Losses: pointwise work, and a sum or mean behind it.
#include <fmt/format.h>

#include <cmath>

#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

// Mean, sum or neither of the elements, as `reduction` says.
Value ReduceLoss(Builder& b, const Value& loss, int64_t reduction) {
  if (reduction == 0) return loss;
  return reduction == 1 ? b.Mean(loss, {}, false) : b.Reduce(ReduceOp::kSum, loss, {}, false);
}

int64_t ReductionOf(const BoundArgs& args) {
  return AsInt(args["reduction"]).value_or(1);
}

std::string NumberText(double value) {
  return PythonLiteral(Arg{value});
}

bool LowerElementLoss(Builder& b, std::string_view op, const BoundArgs& args) {
  Value x = b.Tensor(args, "self");
  if (!IsFloating(x.dtype)) return false;
  Value difference = b.Op("sub", {x, b.Tensor(args, "target")}, ComputeDtype(x.dtype));
  Value loss = difference;
  if (op == "mse_loss") {
    loss = b.Op("square", {difference});
  } else {
    Value magnitude = b.Op("abs", {difference});
    double beta = AsNumber(args["beta"]).value_or(AsNumber(args["delta"]).value_or(0));
    loss = magnitude;
    if (op != "l1_loss" && beta > 0) {
      double scale = op == "huber_loss" ? beta : 1;
      std::string expr =
          fmt::format("tl.where({{0}} < {0}, {1} * {{0}} * {{0}}, {2} * ({{0}} - {3}))", NumberText(beta),
                      NumberText(0.5 * scale / beta), NumberText(scale), NumberText(0.5 * beta));
      loss = b.Pointwise(std::string(op), expr, {magnitude}, magnitude.dtype, 4);
    }
  }
  b.Return({ReduceLoss(b, loss, ReductionOf(args))});
  return true;
}

// Losses of two tensors by one expression: {0} the input, {1} the target.
std::optional<std::string> TwoTensorExpr(std::string_view op, const BoundArgs& args) {
  if (op == "kl_div") {
    return AsBool(args["log_target"], false) ? "tl.exp({1}) * ({1} - {0})"
                                             : "tl.where({1} > 0, {1} * (tl.log({1}) - {0}), 0.0)";
  }
  if (op == "binary_cross_entropy") {
    return "-({1} * tl.maximum(tl.log({0}), -100.0) + (1.0 - {1}) * tl.maximum(libdevice.log1p(-{0}), "
           "-100.0))";
  }
  if (op == "hinge_embedding_loss") {
    return fmt::format(
        "tl.where({{1}} != 1, tl.maximum({} - {{0}}, 0.0), 0.0) + tl.where({{1}} != -1, {{0}}, 0.0)",
        NumberText(AsNumber(args["margin"]).value_or(1)));
  }
  return std::nullopt;
}

bool LowerTwoTensorLoss(Builder& b, std::string_view op, const BoundArgs& args) {
  Value x = b.Tensor(args, "self"), target = b.Tensor(args, "target");
  auto expr = TwoTensorExpr(op, args);
  if (!expr || !IsFloating(x.dtype)) return false;
  Value loss = b.Pointwise("loss", *expr, {x, b.Cast(target, x.dtype)}, ComputeDtype(x.dtype), 6);
  if (b.HasTensor(args, "weight")) loss = b.Op("mul", {loss, b.Tensor(args, "weight")}, loss.dtype);
  b.Return({ReduceLoss(b, loss, ReductionOf(args))});
  return true;
}

// max(x, 0) − x·t + log(1 + exp(−|x|)), which no x overflows; with pos_weight the ones of t weigh more.
bool LowerLogitsLoss(Builder& b, const BoundArgs& args) {
  Value x = b.Tensor(args, "self"), target = b.Tensor(args, "target");
  if (!IsFloating(x.dtype)) return false;
  const Dtype dtype = ComputeDtype(x.dtype);
  Value loss = x;
  if (b.HasTensor(args, "pos_weight")) {
    loss = b.Pointwise(
        "loss",
        "(1.0 - {1}) * {0} + (1.0 + ({2} - 1.0) * {1}) * (libdevice.log1p(tl.exp(-tl.abs({0}))) + "
        "tl.maximum(-{0}, 0.0))",
        {x, target, b.Tensor(args, "pos_weight")}, dtype, 9);
  } else {
    loss = b.Pointwise("loss", "tl.maximum({0}, 0.0) - {0} * {1} + libdevice.log1p(tl.exp(-tl.abs({0})))",
                       {x, target}, dtype, 6);
  }
  if (b.HasTensor(args, "weight")) loss = b.Op("mul", {loss, b.Tensor(args, "weight")}, dtype);
  b.Return({ReduceLoss(b, loss, ReductionOf(args))});
  return true;
}

// Length of x − y + eps along the last dimension.
Value Distance(Builder& b, const Value& x, const Value& y, double p, double eps) {
  Value gap = b.Op("add", {b.Op("sub", {x, y}, ComputeDtype(x.dtype)), eps});
  if (p == 2) return b.Op("sqrt", {b.Reduce(ReduceOp::kSum, b.Op("square", {gap}), {-1}, false)});
  Value magnitude = b.Op("abs", {gap});
  if (p == 1) return b.Reduce(ReduceOp::kSum, magnitude, {-1}, false);
  Value powers = b.Op("pow", {magnitude, p});
  return b.Op("pow", {b.Reduce(ReduceOp::kSum, powers, {-1}, false), 1.0 / p});
}

bool LowerTriplet(Builder& b, const BoundArgs& args) {
  Value anchor = b.Tensor(args, "anchor"), positive = b.Tensor(args, "positive"),
        negative = b.Tensor(args, "negative");
  if (!IsFloating(anchor.dtype)) return false;
  const double p = AsNumber(args["p"]).value_or(2), eps = AsNumber(args["eps"]).value_or(1e-6);
  Value near = Distance(b, anchor, positive, p, eps), far = Distance(b, anchor, negative, p, eps);
  if (AsBool(args["swap"], false)) far = b.Op("minimum", {far, Distance(b, positive, negative, p, eps)});
  Value loss = b.Pointwise(
      "loss",
      fmt::format("tl.maximum({} + {{0}} - {{1}}, 0.0)", NumberText(AsNumber(args["margin"]).value_or(1))),
      {near, far}, near.dtype, 3);
  b.Return({ReduceLoss(b, loss, ReductionOf(args))});
  return true;
}

bool LowerCosine(Builder& b, const BoundArgs& args) {
  Value x = b.Tensor(args, "x1"), y = b.Tensor(args, "x2");
  if (!IsFloating(x.dtype) || !IsFloating(y.dtype)) return false;
  const int64_t dim = AsInt(args["dim"]).value_or(1);
  const double eps = AsNumber(args["eps"]).value_or(1e-8);
  const std::vector<int64_t> sizes = BroadcastSizes({x.sizes(), y.sizes()});
  x.view = Expand(x.view, sizes);
  y.view = Expand(y.view, sizes);
  auto length = [&](const Value& v) {
    Value norm =
        b.Op("sqrt", {b.Reduce(ReduceOp::kSum, b.Op("square", {v}, ComputeDtype(v.dtype)), {dim}, false)});
    return b.Op("clamp_min", {norm, eps});
  };
  Value inner = b.Reduce(ReduceOp::kSum, b.Op("mul", {x, y}, ComputeDtype(x.dtype)), {dim}, false);
  b.Return({b.Op("div", {inner, b.Op("mul", {length(x), length(y)})})});
  return true;
}

// The loss with a share of every target spread over all classes, each by its weight.
Value Smoothed(Builder& b, const Value& loss, const Value& x, const Value& target, const BoundArgs& args,
               double share) {
  Value of_class = x;
  if (b.HasTensor(args, "weight")) {
    std::vector<int64_t> sizes(x.sizes().size(), 1);
    sizes[1] = x.sizes()[1];
    of_class = b.Op("mul", {x, b.Reshape(b.Tensor(args, "weight"), sizes)}, loss.dtype);
  }
  const Value all = b.Reduce(ReduceOp::kSum, of_class, {1}, false);
  return b.Pointwise(
      "smoothed",
      fmt::format("tl.where({{2}} == {}, 0.0, {} * {{0}} - {} * {{1}})", AsInt(args["ignore_index"]).value(),
                  NumberText(1 - share), NumberText(share / static_cast<double>(x.sizes()[1]))),
      {loss, all, target}, loss.dtype, 4);
}

// Log-probabilities of the targets' classes (dimension 1), found by comparing class numbers, so that it fuses
// with the softmax before it.
Value Picked(Builder& b, const Value& x, const Value& target) {
  Value wanted{Expand(Unsqueeze(target.view, 1), x.sizes()), target.dtype};
  Value picked = b.Pointwise("picked", "tl.where({1} == {2}, {0}, 0.0)", {x, b.Index(x.sizes(), 1), wanted},
                             ComputeDtype(x.dtype), 1);
  return b.Reduce(ReduceOp::kSum, picked, {1}, false);
}

// The same of logits in memory, of whose softmax no program has all classes: the target's one is looked up.
Value LookedUp(Builder& b, const Value& logits, const SoftmaxParts& parts, const Value& target) {
  const std::vector<int64_t>& sizes = target.sizes();
  std::vector<Value> index = b.Indices(sizes);
  index.insert(index.begin() + 1, target);
  Conditions inside;
  inside.Within(target, -1, logits.sizes()[1], logits.sizes()[1]);
  Value logit = b.Load("of_target", logits, index, inside.All(b));
  Value shifted = b.Op("sub", {logit, b.Reshape(parts.maximum, sizes)}, parts.maximum.dtype);
  return b.Op("sub", {shifted, b.Reshape(b.Op("log", {parts.sum}), sizes)}, parts.maximum.dtype);
}

bool IsInMemory(const Builder& b, const Value& value) {
  return value.view.prim >= 0 && value.view.guards.empty() && !b.graph[value.view.prim].IsElementwise();
}

// Of log-probabilities, or of the targets' ones. With smoothing, that share of every target is spread over
// all classes.
bool LowerNll(Builder& b, Value x, std::optional<Value> log_probability, const BoundArgs& args,
              double smoothing) {
  Value target = b.Tensor(args, "target");
  auto ignore = AsInt(args["ignore_index"]);
  const int64_t reduction = ReductionOf(args);
  if (x.view.rank() == 1 && target.view.rank() == 0 && reduction != 0) {  // a batch of one
    x.view = Unsqueeze(x.view, 0);
    target.view = Unsqueeze(target.view, 0);
  }
  if (x.view.rank() < 2 || target.view.rank() != x.view.rank() - 1 || !ignore || IsFloating(target.dtype))
    return false;
  const bool weighted = b.HasTensor(args, "weight");
  const Dtype dtype = ComputeDtype(x.dtype);
  if (!log_probability) log_probability = Picked(b, x, target);
  const std::string ignored = fmt::format("{{0}} == {}", *ignore);
  Value share = b.Pointwise("counted", fmt::format("tl.where({}, 0.0, 1.0)", ignored), {target}, dtype, 1);
  if (weighted) {
    Value known = b.Pointwise("known", fmt::format("{{0}} != {}", *ignore), {target}, Dtype::kBool, 0);
    share = b.Load("weight", b.Tensor(args, "weight"), {target}, known);
  }
  Value loss =
      b.Pointwise("loss", "tl.where({1} == 0.0, 0.0, -{0} * {1})", {*log_probability, share}, dtype, 2);
  if (smoothing != 0) loss = Smoothed(b, loss, x, target, args, smoothing);
  Value count = b.Reduce(ReduceOp::kSum, share, {}, false);
  if (reduction == 0) {
    // PyTorch gives no total for losses that are not reduced.
    b.Return({loss, b.Fill({}, dtype, Arg{0.0})});
    return true;
  }
  Value total = b.Reduce(ReduceOp::kSum, loss, {}, false);
  b.Return({reduction == 1 ? b.Op("div", {total, count}) : total, count});
  return true;
}

bool LowerCrossEntropy(Builder& b, const BoundArgs& args) {
  Value x = b.Tensor(args, "self"), target = b.Tensor(args, "target");
  const double smoothing = AsNumber(args["label_smoothing"]).value_or(0);
  if (!IsFloating(x.dtype) || x.view.rank() == 0) return false;
  const SoftmaxParts parts = Softmax(b, x, {x.view.rank() == 1 ? 0 : 1});
  Value log_softmax = LogSoftmax(b, parts);
  if (!IsFloating(target.dtype)) {
    std::optional<Value> of_targets;
    if (target.view.rank() == x.view.rank() - 1 && target.view.rank() > 0 && IsCut(b, x, {1}) &&
        IsInMemory(b, x))
      of_targets = LookedUp(b, x, parts, target);
    return LowerNll(b, log_softmax, of_targets, args, smoothing);
  }
  // Targets are probabilities.
  if (x.view.rank() < 2) return false;
  Value wanted = b.Cast(target, ComputeDtype(x.dtype));
  if (smoothing != 0) {
    wanted = b.Pointwise("smoothed",
                         fmt::format("{} * {{0}} + {}", NumberText(1 - smoothing),
                                     NumberText(smoothing / static_cast<double>(x.sizes()[1]))),
                         {wanted}, wanted.dtype, 2);
  }
  if (b.HasTensor(args, "weight")) {
    Value weight = b.Tensor(args, "weight");
    for (int dim = 2; dim < x.view.rank(); ++dim) weight.view = Unsqueeze(weight.view, weight.view.rank());
    wanted = b.Op("mul", {wanted, weight}, wanted.dtype);
  }
  Value loss = b.Op("neg", {b.Reduce(ReduceOp::kSum, b.Op("mul", {log_softmax, wanted}), {1}, false)});
  const int64_t reduction = ReductionOf(args);
  if (reduction == 1) {  // the mean over the batch, not over the classes
    Value total = b.Reduce(ReduceOp::kSum, loss, {}, false);
    b.Return({b.Op("div", {total, static_cast<double>(loss.view.numel())})});
    return true;
  }
  b.Return({ReduceLoss(b, loss, reduction)});
  return true;
}

}  // namespace

Value LogSoftmax(Builder& b, const SoftmaxParts& parts) {
  return b.Op("sub", {parts.shifted, b.Op("log", {parts.sum})});
}

bool LowerLoss(Builder& b, const Node&, std::string_view op, const BoundArgs& args) {
  if (op == "nll_loss_forward" || op == "nll_loss_nd")
    return LowerNll(b, b.Tensor(args, "self"), {}, args, 0);
  if (op == "cross_entropy_loss") return LowerCrossEntropy(b, args);
  if (op == "binary_cross_entropy_with_logits") return LowerLogitsLoss(b, args);
  if (op == "triplet_margin_loss") return LowerTriplet(b, args);
  if (op == "cosine_similarity") return LowerCosine(b, args);
  if (op == "kl_div" || op == "binary_cross_entropy" || op == "hinge_embedding_loss")
    return LowerTwoTensorLoss(b, op, args);
  if (op == "mse_loss" || op == "l1_loss" || op == "smooth_l1_loss" || op == "huber_loss")
    return LowerElementLoss(b, op, args);
  return false;
}

}  // namespace tritogen::teach
