// The error budget of one output in one trial, and the comparison of a candidate's output with it.
// docs/verdicts.md says why the constants are what they are.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace tritogen {

// Half a unit in the last place of 1.0: 2^-24 for float32, 2^-8 for bfloat16. 0 for integers.
double UnitRoundoff(at::ScalarType dtype);

// Errors are relative to the output's scale, its largest finite expected magnitude.
struct Comparison {
  bool ok = true;
  double error =
      0;  // where the error is largest in terms of its budget; infinite where NaN or Inf do not match
  double budget = 0;  // what it may be there
  double eager = 0;   // what the eager program's is there
  double allclose =
      1;               // share of elements inside KernelBench's tolerance (1e-4 in fp32 and fp64, 1e-2 below)
  double rms = 0;      // root mean square of the finite errors, absolute
  int64_t index = -1;  // flat index of that place; -1: the root mean square over the whole output decides
  double expected = 0, got = 0;  // there
};

// Floating outputs: |got − exact| within the row's budget, and its root mean square over the output within
// its own. Integer and bool outputs: equal. A row is a run of trailing dimensions of at least kRowElements
// elements.
class Expectation {
 public:
  // Multiples of the eager program's largest error in the row; half as much of the root mean square over the
  // output.
  static constexpr double kMultiple = 16;
  static constexpr double kNarrowMultiple = 8;  // below fp32
  static constexpr int64_t kRowElements = 16;

  // `exact`: the output in fp64 (integers in their own dtype). `eager`: in the declared dtype. `wobbles`:
  // fp64 outputs for inputs and weights moved by half a unit in the last place at random: what no program in
  // that precision can see; they count as errors of the eager program.
  Expectation(const at::Tensor& exact, const at::Tensor& eager, const std::vector<at::Tensor>& wobbles);

  // The same by one loop over the elements (kLoops; on the CPU, where it is the faster way) or by tensor
  // operations a block of rows at a time (kTensorOps; the way for a GPU).
  enum class Way { kLoops, kTensorOps };
  Expectation(const at::Tensor& exact, const at::Tensor& eager, const std::vector<at::Tensor>& wobbles,
              Way way);

  // `got` has the output's shape and dtype, or any floating dtype when that is floating.
  Comparison Compare(const at::Tensor& got) const;

  const at::Tensor& exact() const { return exact_; }  // contiguous; double, or as declared for integers
  at::ScalarType dtype() const { return dtype_; }
  double scale() const { return scale_; }
  // Absolute, floating only. On a GPU each call waits for it.
  double AllowedAt(int64_t flat_index) const;

 private:
  struct Rule {
    double multiple;
    // Of the row's largest magnitude: a handful of roundings of values as large as the result that the eager
    // program happened to get exactly right. Below fp32 one rounding at the end is all.
    double floor;
    double allclose;  // KernelBench's tolerance
  };
  static Rule RuleFor(at::ScalarType dtype);

  void MeasureRows(const std::vector<const double*>& errors_of);
  void MeasureRowsByOps(const std::vector<at::Tensor>& errors_of);
  Comparison CompareByOps(const at::Tensor& got) const;
  void Judge(double worst, double rms, Comparison* result) const;
  Comparison CompareIntegers(const at::Tensor& got) const;
  double ErrorAt(int64_t index, double got) const;  // absolute

  at::Tensor exact_;
  at::Tensor eager_;  // contiguous double; kept only when eager and exact differ in which elements are finite
  at::ScalarType dtype_;
  int64_t row_length_ = 1;
  Way way_ = Way::kLoops;
  std::vector<double> row_budget_, row_eager_;  // absolute; kLoops
  at::Tensor budget_rows_, eager_rows_;         // the same; kTensorOps
  double rms_budget_ = 0, rms_eager_ = 0;
  double scale_ = 0;
};

}  // namespace tritogen
