// Expectation by kernels/measure.py and kernels/compare.py: what budget.cc does element by element, for
// outputs that live on a GPU.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/rounding.h"
#include "device/builtin_launch.h"
#include "verify/budget.h"

namespace tritogen {
namespace {

// What a program takes at once, as kernels/emit.py has it.
struct Tile {
  int64_t rows, columns;

  static Tile For(int64_t row_length) {
    for (const Tile tile : {Tile{32, 16}, Tile{16, 64}, Tile{4, 256}}) {
      if (row_length <= tile.columns) return tile;
    }
    return {1, 1024};
  }
};

constexpr int64_t kRestBlock = 4096;      // of find_rest
constexpr int64_t kSums = 8, kFound = 4;  // numbers that each program leaves

// One transfer, and one wait, for all of them, one behind the other.
std::vector<double> ToHost(const std::vector<at::Tensor>& tensors) {
  const at::Tensor host = (tensors.size() == 1 ? tensors[0] : at::cat(tensors)).cpu();
  return {host.const_data_ptr<double>(), host.const_data_ptr<double>() + host.numel()};
}

}  // namespace

std::string Expectation::Tiling() const {
  return std::to_string(Tile::For(row_length_).columns);
}

void Expectation::MeasureByKernels(const at::Tensor& wobble, const at::Tensor& base) {
  const int64_t n = exact_.numel(), rows = this->rows();
  if (n == 0) {
    totals_.emplace();
    return;
  }
  const int64_t programs = std::min(CeilDiv(rows, Tile::For(row_length_).rows), kMostPrograms);
  const auto options = exact_.options();
  row_scale_ = at::empty({rows}, options);
  row_error_ = at::empty({rows}, options);
  device_totals_ = at::zeros({kTotals}, options);  // no fill yet
  const at::Tensor sums = at::empty({programs, kSums}, options);
  const at::Tensor finite = base.defined() ? base.to(eager_.scalar_type()).contiguous() : eager_;
  const std::string dtype = BuiltinDtype(eager_.scalar_type());
  const Rule rule = RuleFor(dtype_);
  const int64_t samples = std::min(rows, kSampledRows);
  const auto measure = [&](int64_t again) {
    LaunchBuiltin("measure_rows." + dtype + (wobble.defined() ? ".1." : ".0.") + Tiling(), programs,
                  {exact_, eager_, wobble.defined() ? wobble : exact_, finite, row_scale_, row_error_, sums,
                   device_totals_, n, row_length_, rows, again});
    LaunchBuiltin("total_rows", 1,
                  {sums, row_scale_, row_error_, device_totals_, programs, rows / samples, samples,
                   rule.multiple, rule.floor, n, again});
  };
  measure(0);
  // Once more without the fills, where there are any: else these four do next to nothing.
  LaunchBuiltin("find_rest", std::min(CeilDiv(n, kRestBlock), kMostPrograms),
                {exact_, device_totals_, device_totals_.narrow(0, kRestAt, 1), n});
  LaunchBuiltin("choose_fill", 1, {device_totals_, rule.gap});
  measure(1);
  const int64_t samples_of_most = SampledPlaces::CountIn(n);
  if (samples_of_most > 0) {
    LaunchBuiltin("measure_most." + dtype + (wobble.defined() ? ".1" : ".0"), 1,
                  {exact_, eager_, wobble.defined() ? wobble : exact_, row_scale_, device_totals_, n,
                   row_length_, samples_of_most, MostElements::kPercentMore});
  }
  columns_.MeasureByKernels(exact_, eager_, wobble, device_totals_);
  AllowColumns();
}

void Expectation::SetTotals(const double* numbers) const {
  totals_ = Totals{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6]};
  if (numbers[kLeastFillAt] > 0) totals_->least_fill = numbers[kLeastFillAt];
  totals_->fill_error = numbers[kFillErrorAt];
  std::copy_n(numbers + kMostAt, 2, totals_->most.noise.begin());
  std::copy_n(numbers + kMostAt + 2, 2, totals_->most.scale.begin());
}

const Expectation::Totals& Expectation::totals() const {
  if (!totals_) Fetch({this});
  return *totals_;
}

void Expectation::Fetch(const std::vector<const Expectation*>& expectations) {
  std::vector<at::Tensor> totals;
  std::vector<const Expectation*> waiting;
  for (const Expectation* expectation : expectations) {
    if (expectation->totals_) continue;
    waiting.push_back(expectation);
    totals.push_back(expectation->device_totals_);
  }
  if (waiting.empty()) return;
  const std::vector<double> host = ToHost(totals);
  for (size_t i = 0; i < waiting.size(); ++i) waiting[i]->SetTotals(&host[i * kTotals]);
}

void Expectation::Slim() {
  if (way_ == Way::kLoops || !at::isFloatingType(dtype_) || !eager_.defined() || exact_.numel() == 0 ||
      totals().differing > 0)
    return;
  eager_ = at::zeros({1}, eager_.options());  // compare_rows reads none of it
}

PendingComparison Expectation::CompareByKernels(const at::Tensor& got) const {
  const int64_t n = exact_.numel(), rows = this->rows();
  if (n == 0) return Comparison{};
  const bool declared = got.scalar_type() == eager_.scalar_type();
  const at::Tensor values = declared ? got.contiguous() : got.to(at::kDouble).contiguous();
  const std::string dtype = BuiltinDtype(eager_.scalar_type()), of = BuiltinDtype(values.scalar_type());
  const Tile tile = Tile::For(row_length_);
  const int64_t tiles = CeilDiv(rows, tile.rows) * CeilDiv(row_length_, tile.columns);
  const int64_t programs = std::min(tiles, kMostPrograms);
  const at::Tensor found = at::empty({programs, kFound}, exact_.options());
  const int64_t samples = SampledPlaces::CountIn(n);
  const at::Tensor result =
      samples > 0 ? at::empty({kResults}, exact_.options()) : at::zeros({kResults}, exact_.options());
  const Rule rule = RuleFor(dtype_);
  const ColumnLayout& layout = columns_.layout();
  const at::Tensor& column_allowed = columns_.empty() ? row_error_ : columns_.allowed();
  const at::Tensor& column_error = columns_.empty() ? row_error_ : columns_.error();
  const at::Tensor& matters = columns_.empty() ? row_error_ : columns_.matters();
  LaunchBuiltin(
      "compare_rows." + dtype + "." + of + "." + Tiling(), programs,
      {exact_, eager_, values, row_scale_, row_error_, column_allowed, matters, device_totals_, found, n,
       row_length_, rows, layout.period, layout.shift, rule.multiple, rule.floor, rule.allclose});
  LaunchBuiltin("join_compared." + dtype + "." + of, 1,
                {exact_,         eager_,       values,    row_scale_,     row_error_,
                 column_allowed, column_error, matters,   device_totals_, found,
                 result,         programs,     n,         row_length_,    rows,
                 layout.period,  layout.shift, tile.rows, tile.columns,   rule.multiple,
                 rule.floor});
  if (samples > 0) {
    LaunchBuiltin("compare_most." + dtype + "." + of, 1,
                  {exact_, eager_, values, device_totals_, result, n, samples});
  }
  if (!gain_.empty()) result.narrow(0, kGainAt, 2).copy_(gain_.Of(exact_, values));
  return {result, this};
}

Comparison Expectation::Finish(const double* result) const {
  const double unit = scale() > 0 ? 1 / scale() : 1, n = static_cast<double>(exact_.numel());
  Comparison comparison;
  comparison.index = static_cast<int64_t>(result[1]);
  comparison.allclose = result[2] / n;
  comparison.expected = result[4];
  comparison.got = result[5];
  comparison.error = ErrorBetween(result[4], result[5]) * unit;
  comparison.budget = result[6] * unit;
  comparison.eager = result[7] * unit;
  comparison.beside = static_cast<Comparison::Beside>(static_cast<int>(result[8]));
  if (result[0] <= 0) comparison.error = 0;  // also where the declared precision excuses the difference
  constexpr double kNoGain[] = {0, 0};
  Judge(result[0], std::sqrt(result[3] / n), {result[kMostErrorsAt], result[kMostErrorsAt + 1]},
        gain_.empty() ? kNoGain : result + kGainAt, &comparison);
  return comparison;
}

void PendingComparison::GetAll(std::span<PendingComparison> pending) {
  // Of each, its numbers, and behind them the totals of what it is compared with, where nobody has these.
  std::vector<at::Tensor> parts;
  std::vector<PendingComparison*> waiting;
  for (PendingComparison& one : pending) {
    if (!one.result_.defined()) continue;
    waiting.push_back(&one);
    parts.push_back(one.result_);
    if (!one.expectation_->totals_) parts.push_back(one.expectation_->device_totals_);
  }
  if (waiting.empty()) return;
  const std::vector<double> host = ToHost(parts);
  const double* at = host.data();
  size_t part = 0;
  for (PendingComparison* one : waiting) {
    const double* result = at;
    at += Expectation::kResults;
    // Known by now when an earlier one of these was for the same expectation; its numbers are there all the
    // same.
    if (++part < parts.size() && parts[part].is_same(one->expectation_->device_totals_)) {
      one->expectation_->SetTotals(at);
      at += Expectation::kTotals;
      ++part;
    }
    one->comparison_ = one->expectation_->Finish(result);
    one->result_.reset();
  }
}

const Comparison& PendingComparison::Get() {
  GetAll({this, 1});
  return comparison_;
}

}  // namespace tritogen
