#include "verify/budget.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "device/aten_dtype.h"
#include "device/builtin_launch.h"
#include "verify/budget_fill.h"
#include "verify/least_normal.h"

namespace tritogen {
namespace {

constexpr double kMostColumnShare = 0.25;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t RowLength(const at::Tensor& tensor) {
  int64_t length = 1;
  for (int64_t d = tensor.dim(); d-- > 0 && length < Expectation::kRowElements;) length *= tensor.size(d);
  length = std::max<int64_t>(length, 1);
  length *= std::max<int64_t>(1, tensor.numel() / Expectation::kMostRows / length);
  return std::min(length, Expectation::kMostRowElements);
}

at::Tensor AsDouble(const at::Tensor& tensor) {
  return tensor.to(at::kDouble).contiguous();
}

bool SamePattern(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Expectation::Rule Expectation::RuleFor(at::ScalarType dtype) {
  const bool narrow = dtype != at::kFloat && dtype != at::kDouble;
  const double multiple = narrow ? kNarrowMultiple : kMultiple, unit = UnitRoundoff(dtype),
               floor = (narrow ? 2 : 16) * unit;
  const double share = std::min(4 * std::sqrt(unit), kMostColumnShare);
  return {multiple,
          floor,
          narrow ? 1e-2 : 1e-4,
          unit > 0 ? share / floor : 0,
          LeastNormal(dtype),
          {4 * multiple, share, floor}};
}

Expectation::Expectation(const at::Tensor& exact, const at::Tensor& eager,
                         const std::vector<at::Tensor>& wobbles, const at::Tensor& base)
    : Expectation(exact, eager, wobbles, base, exact.device().is_cpu() ? Way::kLoops : Way::kKernels) {}

Expectation::Expectation(const at::Tensor& exact, const at::Tensor& eager,
                         const std::vector<at::Tensor>& wobbles, const at::Tensor& base, Way way)
    : dtype_(eager.scalar_type()), least_(RuleFor(dtype_).least), way_(way) {
  TRITOGEN_CHECK(exact.sizes() == eager.sizes());
  if (!at::isFloatingType(dtype_)) {
    exact_ = exact.to(dtype_).contiguous();
    eager_ = eager.contiguous();
    totals_.emplace();
    return;
  }
  exact_ = AsDouble(exact);
  row_length_ = RowLength(exact_);
  columns_ = ColumnBudget(exact_.sizes());
  if (way_ == Way::kKernels) {
    TRITOGEN_CHECK(wobbles.size() <= 1);
    eager_ = BuiltinDtype(dtype_) ? eager.contiguous() : AsDouble(eager);
    MeasureByKernels(wobbles.empty() ? at::Tensor() : AsDouble(wobbles[0]), base);
    MeasureGain(eager, wobbles);
    return;
  }
  std::vector<at::Tensor> others = {AsDouble(eager)};
  for (const at::Tensor& wobble : wobbles) others.push_back(AsDouble(wobble));
  std::vector<const double*> data;
  for (const at::Tensor& other : others) data.push_back(other.const_data_ptr<double>());
  MeasureByLoops(data, base);
  MeasureGain(eager, wobbles);
  if (totals_->differing > 0) eager_ = others[0];
}

// And the scale of the whole.
void Expectation::FindFills() {
  const double* e = exact_.const_data_ptr<double>();
  const int64_t n = exact_.numel();
  const auto largest_below = [&](double bound) {
    double largest = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double size = std::abs(e[i]);
      if (size < bound) largest = std::max(largest, size);
    }
    return largest;
  };
  totals_->scale = largest_below(kInfinity);
  if (totals_->scale < kLeastFill) return;
  const double rest = largest_below(totals_->scale / kFillsOfLargest);
  totals_->least_fill = LeastFill(totals_->scale, rest, RuleFor(dtype_).gap);
}

void Expectation::MeasureGain(const at::Tensor& eager, const std::vector<at::Tensor>& wobbles) {
  if ((dtype_ != at::kHalf && dtype_ != at::kBFloat16) || exact_.numel() == 0) return;
  const at::Tensor least_fill =
      way_ == Way::kKernels ? device_totals_.select(0, kLeastFillAt)
                            : at::full({}, totals().has_fills() ? totals().least_fill : 0, exact_.options());
  gain_ = GainBudget(exact_, least_fill, UnitRoundoff(dtype_), least_);
  gain_.Count(exact_, eager);
  for (const at::Tensor& wobble : wobbles) gain_.Count(exact_, wobble);
}

double Expectation::FillsAllowed() const {
  const Rule rule = RuleFor(dtype_);
  return rule.multiple * totals().fill_error + rule.floor * totals().scale;
}

// A row in which the eager program was lucky gets the error that a typical row has. Where most rows have none
// at all (most of the output is clamped, say), those that have one are judged by their like.
void Expectation::FindTypicalRows() {
  std::vector<double> relative;
  const int64_t samples = std::min(rows(), kSampledRows);
  for (int64_t i = 0; i < samples; ++i) {
    const int64_t r = i * (rows() / samples);
    if (row_magnitude_[r] > 0) relative.push_back(row_eager_[r] / row_magnitude_[r]);
  }
  totals_->typical = Median(relative);
  std::erase(relative, 0.0);
  totals_->erring = Median(std::move(relative));
}

void Expectation::MeasureByLoops(const std::vector<const double*>& errors_of, const at::Tensor& base) {
  const double* e = exact_.const_data_ptr<double>();
  const at::Tensor wide_base = base.defined() ? AsDouble(base) : at::Tensor();
  const double* b = base.defined() ? wide_base.const_data_ptr<double>() : errors_of[0];
  const int64_t n = exact_.numel(), rows = this->rows();
  row_eager_.assign(rows, 0);
  row_magnitude_.assign(rows, 0);
  double squares = 0;
  Totals& totals = totals_.emplace();
  FindFills();
  // Of each element `i` and its row `r`.
  const auto for_each = [&](const auto& act) {
    for (int64_t r = 0, i = 0; r < rows; ++r) {
      for (const int64_t end = std::min(n, i + row_length_); i < end; ++i) act(i, r);
    }
  };
  for_each([&](int64_t i, int64_t r) {
    const double eager = errors_of[0][i];
    if (!std::isfinite(e[i]) || !std::isfinite(eager)) {
      totals.differing += !SamePattern(e[i], eager);
      totals.broken += std::isfinite(b[i]);
    }
    if (!std::isfinite(e[i]) || totals.IsFill(e[i])) return;
    row_magnitude_[r] = std::max(row_magnitude_[r], std::abs(e[i]));
    squares += e[i] * e[i];
  });
  for (const double* other : errors_of) {
    double sum = 0;
    for_each([&](int64_t i, int64_t r) {
      const double error = std::abs(other[i] - e[i]);
      if (!std::isfinite(error)) return;
      if (totals.IsFill(e[i])) {
        totals.fill_error = std::max(totals.fill_error, error);
        return;
      }
      row_eager_[r] = std::max(row_eager_[r], error);
      sum += error * error;
    });
    totals.rms_eager = std::max(totals.rms_eager, std::sqrt(sum / std::max<double>(1, n)));
  }
  FindTypicalRows();
  totals.most = MostByLoops(errors_of);
  row_budget_.resize(rows);
  for (int64_t r = 0; r < rows; ++r) row_budget_[r] = Allowed(row_eager_[r], row_magnitude_[r]);
  const Rule rule = RuleFor(dtype_);
  columns_.MeasureByLoops(exact_, errors_of, totals.least_fill);
  AllowColumns();
  totals.rms_budget = rule.multiple / 2 * totals.rms_eager +
                      rule.floor * std::sqrt(squares / std::max<double>(1, n)) + Spare();
}

double Expectation::Allowed(double error, double scale) const {
  const Rule rule = RuleFor(dtype_);
  return rule.multiple * std::max(error, totals().TypicalOf(error) * scale) + rule.floor * scale + Spare();
}

// Beside fills rows may be of any scale, where they were as large as these: what is as exact as numbers near
// 1 are is right (see ColumnBudget).
double Expectation::Spare() const {
  return totals().has_fills() ? RuleFor(dtype_).floor : 0;
}

Expectation::Elements Expectation::ElementsNow() const {
  Elements of{.exact = exact_.const_data_ptr<double>()};
  if (eager_.defined()) of.eager = eager_.const_data_ptr<double>();
  if (columns_.empty()) return of;
  of.column_allowed = columns_.allowed().const_data_ptr<float>();
  of.column_noise = columns_.error().const_data_ptr<double>();
  of.least_column = *std::min_element(of.column_allowed, of.column_allowed + columns_.layout().count());
  return of;
}

double Expectation::ErrorAt(const Elements& of, int64_t index, double got) const {
  const double e = of.exact[index];
  if (of.eager) {  // the declared precision overflows where fp64 does not, or the other way round
    const double eager = of.eager[index];
    if (SamePattern(got, eager) || (std::isfinite(eager) && !std::isfinite(e) && std::isfinite(got)))
      return 0;
  }
  return ErrorBetween(e, got);
}

double Expectation::ErrorBetween(double exact, double got) const {
  if (!std::isfinite(exact)) return SamePattern(got, exact) ? 0 : kInfinity;
  if (!std::isfinite(got)) return kInfinity;
  const double error = std::abs(got - exact);
  return error <= least_ ? 0 : error;
}

PendingComparison Expectation::CompareLater(const at::Tensor& got) const {
  TRITOGEN_CHECK(got.sizes() == exact_.sizes());
  if (!at::isFloatingType(dtype_)) return CompareIntegers(got);
  return way_ == Way::kKernels ? CompareByKernels(got) : PendingComparison(CompareByLoops(got));
}

Expectation::Bound Expectation::BoundAt(const Elements& of, int64_t index, double error) const {
  using Beside = Comparison::Beside;
  const int64_t row = index / row_length_;
  if (totals().IsFill(of.exact[index])) return {FillsAllowed(), totals().fill_error, Beside::kFills};
  if (std::isfinite(error) && error > of.least_column) {
    const int64_t column = columns_.layout().Of(index);
    const double most = of.column_allowed[column];
    if (error > most && most < row_budget_[row]) return {most, of.column_noise[column], Beside::kColumn};
  }
  return {row_budget_[row], row_eager_[row], Beside::kRow};
}

Comparison Expectation::CompareByLoops(const at::Tensor& got) const {
  const at::Tensor values = AsDouble(got);
  const Elements of = ElementsNow();
  const double *g = values.const_data_ptr<double>(), *e = of.exact;
  const int64_t n = exact_.numel();
  const double tolerance = RuleFor(dtype_).allclose, unit = scale() > 0 ? 1 / scale() : 1;
  Comparison result;
  double worst = -1, squares = 0;
  int64_t close = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double error = ErrorAt(of, i, g[i]);
    close += error <= tolerance + tolerance * std::abs(e[i]) || (error == 0 && !std::isfinite(e[i]));
    if (std::isfinite(error) && !totals().IsFill(e[i])) squares += error * error;
    const double ratio = error == 0          ? 0
                         : std::isinf(error) ? kInfinity  // also where the budget overflows
                                             : error / std::max(BoundAt(of, i, error).allowed,
                                                                std::numeric_limits<double>::min());
    if (ratio > worst) {
      worst = ratio;
      result.index = i;
    }
  }
  if (n == 0) return result;
  const int64_t at = result.index;
  result.allclose = static_cast<double>(close) / static_cast<double>(n);
  const double error = ErrorAt(of, at, g[at]);
  const Bound bound = BoundAt(of, at, error);
  result.error = error * unit;
  result.budget = bound.allowed * unit;
  result.eager = bound.noise * unit;
  result.beside = bound.beside;
  result.expected = e[at];
  result.got = g[at];
  const auto most = MostOf([&](int64_t place) { return ErrorAt(of, place, g[place]); }, 0);
  const at::Tensor gain = gain_.empty() ? at::zeros({2}, exact_.options()) : gain_.Of(exact_, values);
  Judge(worst, std::sqrt(squares / static_cast<double>(n)), most, gain.const_data_ptr<double>(), &result);
  return result;
}

// Every row and column first; where all are well, the whole, then most of it.
void Expectation::Judge(double worst, double rms, const MostElements::Numbers& most, const double* gain,
                        Comparison* result) const {
  result->ok = worst <= 1;
  result->rms = rms;
  const double unit = scale() > 0 ? 1 / scale() : 1;
  const auto judge_whole = [&](double error, double budget, double noise, Comparison::Beside beside) {
    if (!result->ok || error <= budget) return;
    result->ok = false;
    result->error = error * unit;
    result->budget = budget * unit;
    result->eager = noise * unit;
    result->index = -1;
    result->beside = beside;
  };
  const Totals& all = totals();
  judge_whole(rms, all.rms_budget, all.rms_eager, Comparison::Beside::kRow);
  const Rule rule = RuleFor(dtype_);
  for (size_t i = 0; i < most.size(); ++i) {
    const double budget = rule.multiple * all.most.noise[i] + rule.floor * all.most.scale[i] + Spare();
    judge_whole(most[i], budget, all.most.noise[i], Comparison::Beside::kMost);
  }
  judge_whole(gain[0] * scale(), gain[1] * scale(), 0, Comparison::Beside::kGain);
}

double Expectation::AllowedAt(int64_t flat_index) const {
  const int64_t row = flat_index / row_length_;
  if (totals().has_fills() && totals().IsFill(exact_.flatten()[flat_index].item<double>()))
    return FillsAllowed();
  const double by_row = way_ == Way::kLoops
                            ? row_budget_[row]
                            : Allowed(row_error_[row].item<double>(), row_scale_[row].item<double>());
  if (columns_.empty()) return by_row;
  return std::min<double>(by_row, columns_.allowed()[columns_.layout().Of(flat_index)].item<float>());
}

at::Tensor Expectation::AllowedEverywhere(double multiple) const {
  const bool loops = way_ == Way::kLoops;
  const at::Tensor error = loops ? at::tensor(row_eager_, exact_.options()) : row_error_;
  const at::Tensor scale = loops ? at::tensor(row_magnitude_, exact_.options()) : row_scale_;
  const at::Tensor typical = at::where(error > 0, totals().erring, totals().typical);
  const double floor = RuleFor(dtype_).floor;
  const at::Tensor by_row = multiple * at::maximum(error, typical * scale) + floor * scale + Spare();
  at::Tensor everywhere =
      by_row.repeat_interleave(row_length_).narrow(0, 0, exact_.numel()).view(exact_.sizes());
  if (!columns_.empty()) everywhere = at::minimum(everywhere, columns_.AllowedEverywhere(exact_.sizes()));
  if (!totals().has_fills()) return everywhere;
  const double of_fills = multiple * totals().fill_error + floor * totals().scale;
  return at::where(exact_.abs() >= totals().least_fill, of_fills, everywhere);
}

Comparison Expectation::CompareIntegers(const at::Tensor& got) const {
  Comparison result;
  const at::Tensor whole = got.contiguous();
  const at::Tensor wrong = whole.ne(exact_).logical_and_(whole.ne(eager_)).flatten();
  const int64_t count = wrong.sum().item<int64_t>();
  if (count == 0) return result;
  result.ok = false;
  result.index = wrong.to(at::kByte).argmax().item<int64_t>();
  result.expected = exact_.flatten()[result.index].to(at::kDouble).item<double>();
  result.got = whole.flatten()[result.index].to(at::kDouble).item<double>();
  result.error = std::abs(result.got - result.expected);
  result.allclose = 1 - static_cast<double>(count) / static_cast<double>(wrong.numel());
  return result;
}

}  // namespace tritogen
