#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "teach/lowering.h"

namespace tritogen::teach {
namespace {

// (x − mean) / sqrt(variance + eps) over `dims`.
struct Normalized {
  Value y, mean, variance, rstd;
};
Normalized Normalize(Builder& b, const Value& x, const std::vector<int64_t>& dims, double eps) {
  const Moments moments = MomentsOf(b, x, dims);
  Value variance = b.DividedByCount("mean", moments.spread, CountedSizes(x.sizes(), dims));
  Value rstd = b.Op("rsqrt", {b.Op("add", {variance, eps})});
  return {b.Op("mul", {moments.centered, rstd}), moments.mean, variance, rstd};
}

// y·weight + bias, either of which may be missing; `shape` broadcasts them against y.
Value Affine(Builder& b, Value y, const BoundArgs& args, const std::vector<int64_t>& shape) {
  if (b.HasTensor(args, "weight")) y = b.Op("mul", {y, b.Reshape(b.Tensor(args, "weight"), shape)}, y.dtype);
  if (b.HasTensor(args, "bias")) y = b.Op("add", {y, b.Reshape(b.Tensor(args, "bias"), shape)}, y.dtype);
  return y;
}

std::vector<int64_t> LastDims(size_t count) {
  std::vector<int64_t> dims(count);
  for (size_t i = 0; i < count; ++i) dims[i] = -static_cast<int64_t>(count - i);
  return dims;
}

bool LowerSoftmax(Builder& b, std::string_view op, const BoundArgs& args) {
  Value x = b.Tensor(args, "self");
  auto dim = AsInt(args["dim"]);
  if (!dim || !IsFloating(x.dtype)) return false;
  if (const auto* dtype = std::get_if<Dtype>(&args["dtype"].v)) x = b.Cast(x, *dtype);
  SoftmaxParts parts = Softmax(b, x, {*dim});
  if (op.find("log") != std::string_view::npos) {
    b.Return({LogSoftmax(b, parts)});
  } else {
    b.Return({op == "_safe_softmax" ? SafeWeights(b, parts) : b.Op("div", {parts.exponentials, parts.sum})});
  }
  return true;
}

bool LowerLayerNorm(Builder& b, std::string_view op, const BoundArgs& args) {
  Value x = b.Tensor(args, "input");
  auto shape = AsInts(args["normalized_shape"]);
  if (!shape || !IsFloating(x.dtype)) return false;
  auto dims = LastDims(shape->size());
  if (op.find("rms") == std::string_view::npos) {
    Normalized n = Normalize(b, x, dims, AsNumber(args["eps"]).value_or(1e-5));
    b.Return({Affine(b, n.y, args, *shape), n.mean, n.rstd});
    return true;
  }
  double eps = AsNumber(args["eps"]).value_or(x.dtype == Dtype::kFloat64 ? 0x1p-52 : 0x1p-23);
  Value rstd = b.Op("rsqrt", {b.Op("add", {b.Mean(b.Op("square", {x}), dims, true), eps})});
  b.Return({Affine(b, b.Op("mul", {x, rstd}, rstd.dtype), args, *shape), rstd});
  return true;
}

bool LowerGroupNorm(Builder& b, std::string_view op, const BoundArgs& args) {
  Value x = b.Tensor(args, "input");
  auto groups = AsInt(args[op == "group_norm" ? "num_groups" : "group"]);
  if (!groups || x.view.rank() < 2 || !IsFloating(x.dtype)) return false;
  const int64_t batch = x.sizes()[0], channels = x.sizes()[1];
  std::vector<int64_t> sizes{batch, *groups, channels / *groups};
  std::vector<int64_t> scales{1, *groups, channels / *groups};
  const int64_t places = x.view.numel() / (batch * channels), line = channels / *groups * places;
  if (b.CutsAnywhere() && line > kHeldLine / 2) {
    sizes.push_back(places);  // one line to cut
  } else {
    sizes.insert(sizes.end(), x.sizes().begin() + 2, x.sizes().end());
  }
  scales.resize(sizes.size(), 1);
  Normalized n =
      Normalize(b, b.Reshape(x, sizes), LastDims(sizes.size() - 2), AsNumber(args["eps"]).value_or(1e-5));
  Value y = Affine(b, n.y, args, scales);
  const std::vector<int64_t> stats = {batch, *groups};
  b.Return({b.Reshape(y, x.sizes()), b.Reshape(n.mean, stats), b.Reshape(n.rstd, stats)});
  return true;
}

// Whether the values come out of a product, whose tiles have channels of their own.
bool IsOfProduct(const Builder& b, const View& view, int steps = 3) {
  if (view.prim < 0 || steps == 0 || !b.graph.IsWhole(view)) return false;
  const Prim& prim = b.graph[view.prim];
  if (prim.kind == PrimKind::kMatmul) return true;
  return prim.kind == PrimKind::kPointwise && !prim.once &&
         std::any_of(prim.operands.begin(), prim.operands.end(),
                     [&](const View& operand) { return IsOfProduct(b, operand, steps - 1); });
}

// Moves running statistics, where there are any, towards those of a batch with so many values in each
// channel: first the mean, then the variance, which may be the same tensor. `results`: the call's, of which
// the second is the batch's mean. False where they cannot be written to.
bool MoveStatistics(Builder& b, std::string_view op, const BoundArgs& args, const Normalized& batch,
                    int64_t values, std::vector<Value>* results) {
  if (!b.HasTensor(args, "running_mean") || !b.HasTensor(args, "running_var")) return true;
  const double count = static_cast<double>(values), momentum = AsNumber(args["momentum"]).value_or(0.1);
  const bool functional = op == "_native_batch_norm_legit_functional";
  if (!functional && (!b.CanWrite(*AsRef(args["running_mean"])) || !b.CanWrite(*AsRef(args["running_var"]))))
    return false;
  const std::vector<int64_t> flat = (*results)[1].sizes();
  const Value variance =
      b.Reshape(b.Op("mul", {batch.variance, count > 1 ? count / (count - 1) : INFINITY}), flat);
  for (const auto& [name, of_batch] : {std::pair{"running_mean", (*results)[1]}, {"running_var", variance}}) {
    const Value old = b.Tensor(args, name);
    Value kept = b.Op("mul", {old, 1 - momentum}, of_batch.dtype), part = b.Op("mul", {of_batch, momentum});
    const Value moved = b.Cast(b.Op("add", {kept, part}, of_batch.dtype), old.dtype);
    if (functional) {
      results->push_back(moved);
    } else if (!b.Write(*AsRef(args[name]), moved)) {
      return false;
    }
  }
  return true;
}

// With running statistics BatchNorm is an affine map per channel. In training it is a normalisation over all
// but the channels, and moves the running statistics towards the batch's.
bool LowerBatchNorm(Builder& b, std::string_view op, const BoundArgs& args) {
  Value x = b.Tensor(args, "input");
  if (x.view.rank() < 2 || !IsFloating(x.dtype)) return false;
  bool training = AsBool(args["training"], op != "_native_batch_norm_legit_no_training");
  if (op == "_native_batch_norm_legit_no_training") training = false;
  std::vector<int64_t> channel(x.view.rank(), 1), dims;
  channel[1] = x.sizes()[1];
  for (int i = 0; i < x.view.rank(); ++i) {
    if (i != 1) dims.push_back(i);
  }
  double eps = AsNumber(args["eps"]).value_or(1e-5);
  if (training) {
    Normalized n = Normalize(b, x, dims, eps);
    const std::vector<int64_t> flat = {x.sizes()[1]};
    std::vector<Value> results = {Affine(b, n.y, args, channel), b.Reshape(n.mean, flat),
                                  b.Reshape(n.rstd, flat)};
    if (!MoveStatistics(b, op, args, n, x.view.numel() / x.sizes()[1], &results)) return false;
    // Weights that are statistics at the same time have moved before they are read.
    const auto is_moved = [&](std::string_view name) {
      return b.HasTensor(args, name) && b.IsWritten(b.Tensor(args, name));
    };
    if (is_moved("weight") || is_moved("bias")) results[0] = Affine(b, n.y, args, channel);
    b.Return(std::move(results));
    return true;
  }
  if (!b.HasTensor(args, "running_mean") || !b.HasTensor(args, "running_var")) return false;
  // Scale and shift of each channel in float64, as PyTorch computes them on a CPU: once, where a product's
  // tiles do not have them a channel at a time.
  constexpr Dtype kExact = Dtype::kFloat64;
  const Dtype compute = ComputeDtype(x.dtype);
  Value variance = b.Cast(b.Tensor(args, "running_var"), kExact);
  Value scale = b.Op("rsqrt", {b.Op("add", {variance, eps})});
  if (b.HasTensor(args, "weight")) scale = b.Op("mul", {scale, b.Tensor(args, "weight")}, kExact);
  Value shift = b.Op("neg", {b.Op("mul", {b.Tensor(args, "running_mean"), scale}, kExact)});
  if (b.HasTensor(args, "bias")) shift = b.Op("add", {shift, b.Tensor(args, "bias")}, kExact);
  scale = b.Cast(scale, compute);
  shift = b.Cast(shift, compute);
  if (!IsOfProduct(b, x.view)) {
    scale = b.Once("scale", scale);
    shift = b.Once("shift", shift);
  }
  Value scaled = b.Op("mul", {x, b.Reshape(scale, channel)}, compute);
  b.Return({b.Op("add", {scaled, b.Reshape(shift, channel)}, compute)});
  return true;
}

// Over all but batch and channels.
bool LowerInstanceNorm(Builder& b, const BoundArgs& args) {
  Value x = b.Tensor(args, "input");
  if (x.view.rank() < 3 || !IsFloating(x.dtype) || !AsBool(args["use_input_stats"], true)) return false;
  if (b.HasTensor(args, "running_mean")) return false;
  std::vector<int64_t> channel(x.view.rank(), 1), dims;
  channel[1] = x.sizes()[1];
  for (int i = 2; i < x.view.rank(); ++i) dims.push_back(i);
  Normalized n = Normalize(b, x, dims, AsNumber(args["eps"]).value_or(1e-5));
  b.Return({Affine(b, n.y, args, channel)});
  return true;
}

}  // namespace

bool LowerNorm(Builder& b, const Node& node, std::string_view op, const BoundArgs& args) {
  if (op.find("softmax") != std::string_view::npos) return LowerSoftmax(b, op, args);
  if (op == "instance_norm") return LowerInstanceNorm(b, args);
  if (op.find("batch_norm") != std::string_view::npos) return LowerBatchNorm(b, op, args);
  if (op.find("group_norm") != std::string_view::npos) return LowerGroupNorm(b, op, args);
  if (op.find("layer_norm") != std::string_view::npos || op.find("rms_norm") != std::string_view::npos)
    return LowerLayerNorm(b, op, args);
  return LowerLoss(b, node, op, args);
}

}  // namespace tritogen::teach
