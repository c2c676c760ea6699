#include "verify/budget_columns.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/rounding.h"
#include "device/builtin_launch.h"

namespace tritogen {
namespace {

// What a program of measure_columns takes at once, as kernels/emit.py has it.
struct Tile {
  int64_t columns, rows;

  static Tile For(int64_t columns) { return columns <= 32 ? Tile{32, 16} : Tile{128, 4}; }
};

constexpr float kLeast = std::numeric_limits<float>::min();

}  // namespace

ColumnLayout ColumnLayout::For(at::IntArrayRef sizes) {
  int64_t period = 1, lines = 1;
  for (const int64_t size : sizes) period *= size;
  ColumnLayout layout;
  if (period == 0) return layout;
  for (size_t d = 0; d < sizes.size() && lines < kLeastElements && period / sizes[d] > 1; ++d) {
    lines *= sizes[d];
    period /= sizes[d];
  }
  while (lines << layout.shift < kLeastElements || period >> layout.shift > kMostColumns) ++layout.shift;
  if (period > int64_t{1} << layout.shift) layout.period = period;
  return layout;
}

void ColumnBudget::MeasureByLoops(const at::Tensor& exact, const std::vector<const double*>& errors_of,
                                  double least_fill) {
  if (empty()) return;
  scale_ = at::zeros({layout_.count()}, exact.options());
  error_ = at::zeros({layout_.count()}, exact.options());
  const double* e = exact.const_data_ptr<double>();
  double *scale = scale_.mutable_data_ptr<double>(), *noise = error_.mutable_data_ptr<double>();
  for (int64_t line = 0; line < exact.numel(); line += layout_.period) {
    for (int64_t j = 0; j < layout_.period; ++j) {
      const int64_t column = j >> layout_.shift, i = line + j;
      if (std::abs(e[i]) >= least_fill) continue;
      if (std::isfinite(e[i])) scale[column] = std::max(scale[column], std::abs(e[i]));
      for (const double* other : errors_of) {
        const double error = std::abs(other[i] - e[i]);
        if (std::isfinite(error)) noise[column] = std::max(noise[column], error);
      }
    }
  }
}

void ColumnBudget::MeasureByKernels(const at::Tensor& exact, const at::Tensor& eager,
                                    const at::Tensor& wobble, const at::Tensor& totals) {
  if (empty()) return;
  const int64_t count = layout_.count(), padded = count + count % 2;  // kernels ask for 16 bytes
  const at::Tensor zeros = at::zeros({2 * padded + 1}, exact.options());
  scale_ = zeros.narrow(0, 0, count);
  error_ = zeros.narrow(0, padded, count);
  matters_ = zeros.narrow(0, 2 * padded, 1);
  const int64_t lines = exact.numel() / layout_.period;
  const Tile tile = Tile::For(count);
  const int64_t tiles = CeilDiv(count, tile.columns), most = CeilDiv(lines << layout_.shift, tile.rows);
  const int64_t parts = std::clamp<int64_t>(kMostPrograms / tiles, 1, most);
  LaunchBuiltin(fmt::format("measure_columns.{}.{}.{}", BuiltinDtype(eager.scalar_type()),
                            wobble.defined() ? 1 : 0, tile.columns),
                tiles * parts,
                {exact, eager, wobble.defined() ? wobble : exact, scale_, error_, totals, layout_.period,
                 lines, layout_.shift, parts});
}

void ColumnBudget::AllowByLoops(const Rule& rule, double scale) {
  if (empty()) return;
  allowed_ = at::empty({layout_.count()}, scale_.options().dtype(at::kFloat));
  const double *scales = scale_.const_data_ptr<double>(), *noise = error_.const_data_ptr<double>();
  float* allowed = allowed_.mutable_data_ptr<float>();
  for (int64_t i = 0; i < layout_.count(); ++i) {
    const double most = rule.multiple * noise[i] + rule.share * scales[i] + rule.floor * std::min(scale, 1.0);
    allowed[i] =
        scales[i] > 0 ? std::max(static_cast<float>(most), kLeast) : std::numeric_limits<float>::infinity();
  }
}

void ColumnBudget::AllowByKernels(const Rule& rule, const at::Tensor& totals) {
  if (empty()) return;
  allowed_ = at::empty({layout_.count()}, scale_.options().dtype(at::kFloat));
  LaunchBuiltin(
      "allow_columns", CeilDiv(layout_.count(), 1024),
      {scale_, error_, totals, allowed_, matters_, layout_.count(), rule.multiple, rule.share, rule.floor});
}

at::Tensor ColumnBudget::AllowedEverywhere(at::IntArrayRef sizes) const {
  const at::Tensor line =
      allowed_.to(at::kDouble).repeat_interleave(int64_t{1} << layout_.shift).narrow(0, 0, layout_.period);
  return line.expand({c10::multiply_integers(sizes) / layout_.period, layout_.period}).reshape(sizes);
}

void ColumnBudget::Widen(const ColumnBudget& other) {
  if (!empty()) error_ = at::maximum(error_, other.error_);
  Matter();
}

void ColumnBudget::Matter() {
  if (matters_.defined()) matters_.view(at::kLong).fill_(1);
}

}  // namespace tritogen
