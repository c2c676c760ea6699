// What an Expectation allows more than it did when it was made.
#include <ATen/ATen.h>

#include <algorithm>

#include "verify/budget.h"

namespace tritogen {

void Expectation::Widen(const at::Tensor& wobble) {
  if (!at::isFloatingType(dtype_) || exact_.numel() == 0) return;
  const Expectation other(exact_, wobble.to(at::kDouble).contiguous(), {}, {}, way_);
  const double rms = totals().rms_eager, more = std::max(rms, other.totals().rms_eager);
  totals_->rms_eager = more;
  totals_->rms_budget += RuleFor(dtype_).multiple / 2 * (more - rms);
  totals_->fill_error = std::max(totals_->fill_error, other.totals().fill_error);
  totals_->most.Widen(other.totals().most);
  columns_.Widen(other.columns_);
  AllowColumns();
  gain_.Count(exact_, wobble);
  if (way_ == Way::kKernels) {
    row_error_ = at::maximum(row_error_, other.row_error_);
    device_totals_.select(0, kFillErrorAt).fill_(totals_->fill_error);
    return;
  }
  for (size_t r = 0; r < row_eager_.size(); ++r) {
    row_eager_[r] = std::max(row_eager_[r], other.row_eager_[r]);
    row_budget_[r] = std::max(row_budget_[r], Allowed(row_eager_[r], row_magnitude_[r]));
  }
}

void Expectation::AllowColumns() {
  const ColumnBudget::Rule rule = RuleFor(dtype_).column;
  if (way_ == Way::kKernels) {
    columns_.AllowByKernels(rule, device_totals_);
  } else {
    columns_.AllowByLoops(rule, totals().scale);
  }
}

void Expectation::RaiseRows(const at::Tensor& least) {
  columns_.Matter();
  Raise(least);
}

void Expectation::Raise(const at::Tensor& least) {
  if (!at::isFloatingType(dtype_) || exact_.numel() == 0) return;
  if (way_ == Way::kKernels) {
    row_error_ = at::maximum(row_error_, least);
    return;
  }
  const double noise = least.item<double>();
  for (size_t r = 0; r < row_eager_.size(); ++r) {
    row_eager_[r] = std::max(row_eager_[r], noise);
    row_budget_[r] = std::max(row_budget_[r], Allowed(row_eager_[r], row_magnitude_[r]));
  }
}

void Expectation::RaiseRowsToNoise() {
  if (!at::isFloatingType(dtype_) || exact_.numel() == 0) return;
  constexpr int kRmsEager = 2;  // among what total_rows gives; no row is allowed more than one was before
  Raise(way_ == Way::kKernels ? device_totals_.select(0, kRmsEager)
                              : at::full({}, totals().rms_eager, exact_.options()));
}

}  // namespace tritogen
