// The error budget of one output in one trial, and the comparison of a candidate's output with it.
// docs/verdicts.md says why the constants are what they are.
#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/rounding.h"
#include "verify/budget_columns.h"
#include "verify/budget_gain.h"
#include "verify/budget_most.h"

namespace tritogen {

// Errors are relative to the output's scale, its largest finite expected magnitude.
struct Comparison {
  bool ok = true;
  // Where the error is largest in terms of its budget; infinite where NaN or Inf do not match.
  double error = 0;
  double budget = 0;  // what it may be there
  double eager = 0;   // what the eager program's is there
  // Share of elements inside KernelBench's tolerance (1e-4 in fp32 and fp64, 1e-2 below).
  double allclose = 1;
  double rms = 0;      // root mean square of the finite errors, absolute
  int64_t index = -1;  // flat index of that place; -1: the whole output decides
  // Whose budget decides: there, or (kMost) that of most elements, or (kGain) of what errors have in common;
  // -1 and kRow: the root mean square's.
  enum class Beside { kRow, kColumn, kFills, kMost, kGain } beside = Beside::kRow;
  double expected = 0, got = 0;  // there
};

// A comparison whose numbers may still be on their way from a GPU.
class PendingComparison {
 public:
  PendingComparison(Comparison known) : comparison_(known) {}  // NOLINT: nothing is pending

  const Comparison& Get();  // waits
  // Waits once for all of them.
  static void GetAll(std::span<PendingComparison> pending);

 private:
  friend class Expectation;
  PendingComparison(at::Tensor result, const class Expectation* expectation)
      : result_(std::move(result)), expectation_(expectation) {}

  at::Tensor result_;  // of the kernel join_compared, then the expectation's totals; undefined: not pending
  const class Expectation* expectation_ = nullptr;
  Comparison comparison_;
};

// Floating outputs: |got − exact| within the row's budget and the column's, and its root mean square over the
// output within its own, and most elements within theirs (budget_most.h); fills (budget_fill.h) have a budget
// of theirs and count for none of these. Integer and bool outputs: what fp64 or the eager program gives. A
// row is a run of trailing dimensions of at least kRowElements elements, or so many of them that there are
// kMostRows rows or little more, cut after kMostRowElements.
class Expectation {
 public:
  // Multiples of the eager program's largest error in the row; half as much of the root mean square over the
  // output.
  static constexpr double kMultiple = 16;
  static constexpr double kNarrowMultiple = 8;  // below fp32
  static constexpr int64_t kRowElements = 16, kMostRowElements = 16384;
  // Of millions of rows there are always some in which the eager program was lucky.
  static constexpr int64_t kMostRows = 65536;
  static constexpr int64_t kSampledRows = 2048;  // what a typical row is like is asked of so many

  // `exact`: the output in fp64 (integers in their own dtype). `eager`: in the declared dtype. `wobbles`:
  // fp64 outputs for inputs and weights moved by half a unit in the last place at random: what no program in
  // that precision can see; they count as errors of the eager program. `base`: another output of the eager
  // program, finite where this one should be (undefined: `eager` itself).
  Expectation(const at::Tensor& exact, const at::Tensor& eager, const std::vector<at::Tensor>& wobbles,
              const at::Tensor& base = {});

  // The same by one loop over the elements (kLoops; the way for a CPU) or by kernels/measure.py (kKernels; at
  // most one wobble; the way for a GPU, which no call waits for where it does not say so).
  enum class Way { kLoops, kKernels };
  Expectation(const at::Tensor& exact, const at::Tensor& eager, const std::vector<at::Tensor>& wobbles,
              const at::Tensor& base, Way way);

  // `got` has the output's shape and dtype, or any floating dtype when that is floating. This Expectation
  // must outlive what is pending.
  PendingComparison CompareLater(const at::Tensor& got) const;
  Comparison Compare(const at::Tensor& got) const { return CompareLater(got).Get(); }

  const at::Tensor& exact() const { return exact_; }  // contiguous; double, or as declared for integers
  at::ScalarType dtype() const { return dtype_; }
  // Floating only; a GPU is waited for.
  double scale() const { return totals().scale; }
  double AllowedAt(int64_t flat_index) const;  // absolute, by its row and its column
  double least() const { return least_; }      // absolute: what is off by no more is right
  // Floating only: what each element may be off by in its row, were it so many times the noise, and in its
  // column. A GPU is waited for.
  at::Tensor AllowedEverywhere(double multiple) const;
  // How many times the noise of a row is allowed in it.
  double multiple() const { return RuleFor(dtype_).multiple; }
  // Root mean square of the eager program's errors, or a wobble's; a GPU is waited for.
  double noise() const { return totals().rms_eager; }
  double rms_budget() const { return totals().rms_budget; }  // absolute; a GPU is waited for
  // Elements that are NaN or Inf in the declared precision alone, or in fp64 alone, or another of these.
  double differing() const { return totals().differing; }
  // Elements that are not finite, in the declared precision or in fp64, but are in `base`.
  double broken() const { return totals().broken; }
  // The same for several, waiting once.
  static void Fetch(const std::vector<const Expectation*>& expectations);

  // Counts another wobble into the noise of rows, columns, the whole and most, which may be larger then; what
  // a typical row is like stays. A GPU is waited for.
  void Widen(const at::Tensor& wobble);

  // From now on no row's noise counts as less than this, one number on the output's device: where a function
  // has steps or flat parts, what little noise a row shows says nothing about the next program's. A GPU is
  // not waited for.
  void RaiseRows(const at::Tensor& least);
  // The same with the root mean square of the noise of all rows.
  void RaiseRowsToNoise();

  // Gives back the memory of the eager output where comparisons do not look at it: where its NaN and Inf are
  // those of `exact`. A GPU is waited for.
  void Slim();

 private:
  struct Rule {
    double multiple;
    // Of the row's largest magnitude: a handful of roundings of values as large as the result that the eager
    // program happened to get exactly right. Below fp32 one rounding at the end is all.
    double floor;
    double allclose;  // KernelBench's tolerance
    double gap;       // between fills and the rest: beside less, nearly half of the digits count anyway
    // Absolute: numbers below the smallest normal one are what hardware makes of them, zero for some. Of
    // dtypes whose own such numbers programs are full of there is no such thing.
    double least;
    ColumnBudget::Rule column;
  };
  static Rule RuleFor(at::ScalarType dtype);

  // Over the whole output.
  struct Totals {
    double scale = 0, rms_budget = 0, rms_eager = 0, typical = 0, differing = 0, broken = 0, erring = 0;
    double least_fill = std::numeric_limits<double>::infinity(), fill_error = 0;
    MostElements most;
    bool has_fills() const { return std::isfinite(least_fill); }
    bool IsFill(double exact) const { return std::abs(exact) >= least_fill && std::isfinite(exact); }
    // What a row may rest on beside its own error, relative to its largest magnitude.
    double TypicalOf(double row_error) const { return row_error > 0 ? erring : typical; }
  };
  static constexpr int64_t kTotals = 16, kResults = 13;  // numbers that the kernels give
  // Where kernels keep the largest magnitude that is no fill, the least that is one (0: none is), their
  // noise.
  static constexpr int64_t kRestAt = 8, kLeastFillAt = 10, kFillErrorAt = 11;
  static constexpr int64_t kMostAt = 12;                     // four: noise, scale
  static constexpr int64_t kMostErrorsAt = 9, kGainAt = 11;  // two each, among the results

  const Totals& totals() const;
  void SetTotals(const double* numbers) const;
  std::string Tiling() const;  // of the kernels for rows: "64"
  int64_t rows() const { return CeilDiv(exact_.numel(), row_length_); }

  void FindFills();
  void FindTypicalRows();
  MostElements MostByLoops(const std::vector<const double*>& errors_of) const;
  // Of the sampled places that are finite and no fills; kLoops.
  MostElements::Numbers MostOf(const std::function<double(int64_t)>& number_at, int64_t percent_more) const;
  double FillsAllowed() const, Spare() const;  // absolute
  void Raise(const at::Tensor& least);         // every row's noise to this
  void AllowColumns();                         // by the noise that is known now
  // Absolute, of a row with this largest error and this largest magnitude.
  double Allowed(double error, double scale) const;
  void MeasureByLoops(const std::vector<const double*>& errors_of, const at::Tensor& base);
  void MeasureByKernels(const at::Tensor& wobble, const at::Tensor& base);
  Comparison CompareByLoops(const at::Tensor& got) const;
  struct Bound {
    double allowed, noise;  // absolute
    Comparison::Beside beside;
  };
  // Where loops find what belongs to an element: `eager` only where NaN and Inf are elsewhere than in
  // `exact`, columns only where there are any.
  struct Elements {
    const double *exact = nullptr, *eager = nullptr;
    const float* column_allowed = nullptr;
    const double* column_noise = nullptr;
    double least_column = std::numeric_limits<double>::infinity();  // of column_allowed
  };
  Elements ElementsNow() const;
  // What decides of an element with this error: its row, or its column where that is over its budget by more.
  Bound BoundAt(const Elements& of, int64_t index, double error) const;
  PendingComparison CompareByKernels(const at::Tensor& got) const;
  Comparison Finish(const double* result) const;
  // `gain`: two numbers of GainBudget, both 0 where nobody asks.
  void Judge(double worst, double rms, const MostElements::Numbers& most, const double* gain,
             Comparison* result) const;
  void MeasureGain(const at::Tensor& eager, const std::vector<at::Tensor>& wobbles);
  Comparison CompareIntegers(const at::Tensor& got) const;
  double ErrorAt(const Elements& of, int64_t index, double got) const;  // absolute
  double ErrorBetween(double exact, double got) const;  // absolute; infinite where NaN or Inf do not match

  friend class PendingComparison;

  at::Tensor exact_;
  at::Tensor eager_;  // contiguous; floating and kLoops: double, and only when NaN or Inf are elsewhere than
                      // in exact; one element of no meaning after Slim
  at::ScalarType dtype_;
  double least_ = 0;  // Rule::least
  int64_t row_length_ = 1;
  ColumnBudget columns_;
  GainBudget gain_;  // of half types
  Way way_ = Way::kLoops;
  std::vector<double> row_budget_, row_eager_, row_magnitude_;  // absolute; kLoops
  at::Tensor row_scale_, row_error_,
      device_totals_;  // kKernels: float64, what measure_rows and total_rows give
  mutable std::optional<Totals> totals_;
};

}  // namespace tritogen
