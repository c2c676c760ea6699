#include "verify/partial_range.h"

#include <ATen/ATen.h>

#include <cmath>
#include <optional>
#include <string_view>

#include "plan/visit.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

// Powers of two between which numbers have all their places, as partial results are computed.
struct Exponents {
  double least, most;
};

Exponents RangeOf(Dtype dtype) {
  return dtype == Dtype::kFloat64 ? Exponents{-1022, 1024} : Exponents{-126, 128};
}

enum class Kind { kNone, kProduct, kPrefixes, kSquares, kTerms };

// Of a sum so much is lost where rounding its largest term may change it by that.
constexpr double kShareLost = 1.0 / 64;

Kind KindOf(const AtenStep& step) {
  const std::string_view op = WithoutOverload(step.op);
  if (op == "aten::prod") return Kind::kProduct;
  if (op == "aten::cumprod") return Kind::kPrefixes;
  if (op == "aten::sum" || op == "aten::mean") return Kind::kTerms;
  return IsVariance(step) ? Kind::kSquares : Kind::kNone;
}

// What a reduction names; empty: all.
std::vector<int64_t> Dims(const AtenStep& step) {
  std::vector<int64_t> dims;
  const Value* dim = FindArgument(step, "dim");
  if (dim == nullptr) return dims;
  if (const auto* one = std::get_if<int64_t>(&dim->v)) dims.push_back(*one);
  if (const auto* list = std::get_if<Value::List>(&dim->v)) {
    for (const Value& value : *list) {
      if (const auto* one = std::get_if<int64_t>(&value.v)) dims.push_back(*one);
    }
  }
  return dims;
}

// Zeros, NaN and Inf are what they are in any order; they count as 1.
at::Tensor Logarithms(const at::Tensor& x) {
  const at::Tensor size = x.abs();
  return at::where((size > 0).logical_and(size.isfinite()), size, 1.0).log2();
}

// The large numbers first, or the small ones: with all of either a product is as far away as any order brings
// it. What ends below the range anyway is next to zero in every order.
at::Tensor ProductLeaves(const at::Tensor& x, const std::vector<int64_t>& dims, Exponents range) {
  const bool all = dims.empty();
  const at::Tensor line = all ? x.flatten() : x, log = Logarithms(line);
  const int64_t dim = all ? 0 : dims[0];
  const at::Tensor up = log.clamp_min(0).sum(dim), down = log.clamp_max(0).sum(dim);
  const at::Tensor lost =
      (down < range.least).logical_and((up + down) > range.least).logical_and(line.ne(0).all(dim));
  return (up > range.most).logical_or(lost).any();
}

// Of a line's partial products any stretch may be made by itself.
at::Tensor PrefixesLeave(const at::Tensor& x, int64_t dim, Exponents range) {
  const at::Tensor prefix = Logarithms(x).cumsum(dim);
  const at::Tensor lowest = std::get<0>(prefix.cummin(dim)).clamp_max(0),
                   highest = std::get<0>(prefix.cummax(dim)).clamp_min(0);
  const at::Tensor fell = std::get<0>((highest - prefix).cummax(dim)) > -range.least;
  const at::Tensor lost = fell.logical_and(prefix > range.least).logical_and(x.eq(0).cumsum(dim).eq(0));
  return ((prefix - lowest) > range.most).logical_or(lost).any();
}

at::Tensor SquaresLeave(const at::Tensor& x, const std::vector<int64_t>& dims, Exponents range) {
  std::optional<at::IntArrayRef> over;
  if (!dims.empty()) over = dims;
  const at::Tensor sum = (x - x.mean(over, /*keepdim=*/true)).square().sum(over);
  return sum.isfinite().logical_and(sum.log2() > range.most).any();
}

// Terms that were made of products cancel each other if these were made one after the other; products of
// parts are as exact, and what remains of the sum is how they were rounded.
at::Tensor TermsCancel(const at::Tensor& x, const std::vector<int64_t>& dims, double unit) {
  std::vector<int64_t> over = dims;
  for (int64_t d = 0; d < x.dim() && dims.empty(); ++d) over.push_back(d);
  const at::Tensor largest = x.abs().amax(over), sum = x.sum(over).abs();
  const at::Tensor lost = (largest * unit > sum * kShareLost).logical_and(largest.isfinite());
  return lost.any();
}

}  // namespace

std::vector<Probe> RangeProbes(const Plan& plan) {
  std::vector<Probe> probes;
  bool behind_products = false;
  for (const Step& step : plan.run) {
    const auto* aten = std::get_if<AtenStep>(&step);
    const Kind kind = aten == nullptr || aten->args.empty() ? Kind::kNone : KindOf(*aten);
    if (kind == Kind::kNone || (kind == Kind::kTerms && !behind_products)) continue;
    behind_products |= kind == Kind::kPrefixes;
    const auto* self = std::get_if<TensorRef>(&aten->args[0].v);
    if (self == nullptr || !IsFloating(plan.tensors[self->id].dtype)) continue;
    if (FirstResult(*aten) == kNoTensor) continue;
    probes.push_back({aten, self->id, {}, {}});
  }
  return probes;
}

std::optional<at::Tensor> OrderLeavesRange(const Plan& plan, const Probe& probe) {
  const at::Tensor& x = probe.seen;
  if (!x.defined() || x.numel() == 0 || x.dim() == 0) return std::nullopt;
  const Dtype dtype = plan.tensors[FirstResult(*probe.step)].dtype;
  const Exponents range = RangeOf(dtype);
  const std::vector<int64_t> dims = Dims(*probe.step);
  switch (KindOf(*probe.step)) {
    case Kind::kProduct:
      return ProductLeaves(x, dims, range);
    case Kind::kPrefixes:
      if (dims.empty()) break;
      return PrefixesLeave(x, dims[0], range);
    case Kind::kSquares:
      return SquaresLeave(x, dims, range);
    case Kind::kTerms:
      return TermsCancel(x, dims, std::ldexp(1, dtype == Dtype::kFloat64 ? -53 : -24));
    case Kind::kNone:
      break;
  }
  return std::nullopt;
}

}  // namespace tritogen
