// Expectation by tensor operations: what budget.cc does element by element, for outputs that live on a GPU.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "verify/budget.h"

namespace tritogen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kBlockElements = int64_t{1} << 26;  // bounds what the intermediate results take

// As blocks of whole rows: (rows, row_length), as double.
class Rows {
 public:
  Rows(const at::Tensor& tensor, int64_t row_length) : rows_(tensor.view({-1, row_length})) {}

  static int64_t PerBlock(int64_t row_length) { return std::max<int64_t>(1, kBlockElements / row_length); }
  int64_t count() const { return rows_.size(0); }
  at::Tensor Block(int64_t first, int64_t rows) const {
    return rows_.narrow(0, first, std::min(rows, count() - first)).to(at::kDouble);
  }

 private:
  at::Tensor rows_;
};

at::Tensor SamePattern(const at::Tensor& a, const at::Tensor& b) {
  return a.eq(b).logical_or(a.isnan().logical_and(b.isnan()));
}

std::vector<double> ToHost(const std::vector<at::Tensor>& scalars) {
  std::vector<at::Tensor> wide;
  for (const at::Tensor& scalar : scalars) wide.push_back(scalar.to(at::kDouble).reshape({}));
  const at::Tensor host = at::stack(wide).cpu();
  return {host.const_data_ptr<double>(), host.const_data_ptr<double>() + host.numel()};
}

// |got − exact|, infinite where one of them is finite and the other is not.
at::Tensor Errors(const at::Tensor& exact, const at::Tensor& got) {
  const at::Tensor apart = got.sub(exact).abs();
  const at::Tensor finite = exact.isfinite().logical_and(got.isfinite());
  return at::where(finite, apart, at::where(SamePattern(got, exact), 0.0, kInfinity));
}

}  // namespace

void Expectation::MeasureRowsByOps(const std::vector<at::Tensor>& errors_of) {
  const int64_t n = exact_.numel(), step = Rows::PerBlock(row_length_);
  if (n == 0) return;
  const Rows exact(exact_, row_length_);
  std::vector<at::Tensor> scales, eagers;
  at::Tensor squares = at::zeros({}, exact_.options()),
             differs = at::zeros({}, squares.options().dtype(at::kBool));
  std::vector<at::Tensor> sums(errors_of.size(), squares);
  for (int64_t first = 0; first < exact.count(); first += step) {
    const at::Tensor e = exact.Block(first, step);
    const at::Tensor size = at::where(e.isfinite(), e.abs(), 0.0);
    scales.push_back(size.amax(1));
    squares = squares + size.square().sum();
    at::Tensor largest = at::zeros_like(scales.back());
    for (size_t i = 0; i < errors_of.size(); ++i) {
      const at::Tensor other = Rows(errors_of[i], row_length_).Block(first, step);
      const at::Tensor apart = other.sub(e).abs();
      const at::Tensor error = at::where(apart.isfinite(), apart, 0.0);
      largest = at::maximum(largest, error.amax(1));
      sums[i] = sums[i] + error.square().sum();
      if (i > 0) continue;
      const at::Tensor both = e.isfinite().logical_and(other.isfinite());
      differs = differs.logical_or(both.logical_or(SamePattern(e, other)).logical_not().any());
    }
    eagers.push_back(largest);
  }
  const at::Tensor scale = at::cat(scales);
  eager_rows_ = at::cat(eagers);
  const at::Tensor relative = eager_rows_.div(scale).masked_select(scale.gt(0));
  // A row in which the eager program was lucky gets the error that a typical row has.
  const at::Tensor typical = relative.numel() == 0 ? at::zeros({}, scale.options())
                                                   : std::get<0>(relative.kthvalue(relative.numel() / 2 + 1));
  const Rule rule = RuleFor(dtype_);
  budget_rows_ = rule.multiple * at::maximum(eager_rows_, typical * scale) + rule.floor * scale;
  const std::vector<double> host = ToHost({scale.max(), squares, at::stack(sums).max(), differs});
  scale_ = host[0];
  rms_eager_ = std::sqrt(host[2] / static_cast<double>(n));
  rms_budget_ = rule.multiple / 2 * rms_eager_ + rule.floor * std::sqrt(host[1] / static_cast<double>(n));
  if (host[3] != 0) eager_ = errors_of[0].to(at::kDouble);
}

Comparison Expectation::CompareByOps(const at::Tensor& got) const {
  Comparison result;
  const int64_t n = exact_.numel(), step = Rows::PerBlock(row_length_);
  if (n == 0) return result;
  const double tolerance = RuleFor(dtype_).allclose, unit = scale_ > 0 ? 1 / scale_ : 1;
  const Rows exact(exact_, row_length_), values(got, row_length_);
  double worst = -1, squares = 0, close = 0;
  for (int64_t first = 0; first < exact.count(); first += step) {
    const at::Tensor e = exact.Block(first, step), g = values.Block(first, step);
    at::Tensor error = Errors(e, g);
    if (eager_.defined()) {  // the declared precision overflows where fp64 does not, or the other way round
      const at::Tensor eager = Rows(eager_, row_length_).Block(first, step);
      const at::Tensor rescued =
          eager.isfinite().logical_and(e.isfinite().logical_not()).logical_and(g.isfinite());
      error = at::where(SamePattern(g, eager).logical_or(rescued), 0.0, error);
    }
    const at::Tensor allowed = budget_rows_.narrow(0, first, e.size(0)).unsqueeze(1);
    const at::Tensor ratio =
        at::where(error.eq(0), 0.0, error.div(allowed.clamp_min(std::numeric_limits<double>::min())));
    const at::Tensor near = error.le(e.abs().mul(tolerance).add(tolerance))
                                .logical_or(error.eq(0).logical_and(e.isfinite().logical_not()));
    const auto [top, at] = ratio.flatten().max(0);
    const at::Tensor row = at.div(row_length_, "floor").reshape({1});
    const at::Tensor place = at.reshape({1});
    const std::vector<double> host =
        ToHost({top, at, near.sum(), at::where(error.isfinite(), error, 0.0).square().sum(),
                e.flatten().index_select(0, place), g.flatten().index_select(0, place),
                error.flatten().index_select(0, place), allowed.flatten().index_select(0, row),
                eager_rows_.narrow(0, first, e.size(0)).index_select(0, row)});
    close += host[2];
    squares += host[3];
    if (host[0] <= worst) continue;
    worst = host[0];
    result.index = first * row_length_ + static_cast<int64_t>(host[1]);
    result.expected = host[4];
    result.got = host[5];
    result.error = host[6] * unit;
    result.budget = host[7] * unit;
    result.eager = host[8] * unit;
  }
  result.allclose = close / static_cast<double>(n);
  Judge(worst, std::sqrt(squares / static_cast<double>(n)), &result);
  return result;
}

}  // namespace tritogen
