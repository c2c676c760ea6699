// The other half of the error budget: by column. A row's budget goes by its largest element, so what is small
// beside that could be anything, `cat([x * 1e6, sin(x)], 1)` with zeros behind, say. What stands at one place
// of all rows is alike in most programs; it is judged by its like as well, more loosely.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace tritogen {

// Programs of a kernel that measures or compares: all run at the same time where 132 multiprocessors have 5
// each. What they find is joined by one program, which takes at most 1024.
constexpr int64_t kMostPrograms = 640;

// An output as lines of `period` elements, as many of its trailing dimensions as leave kLeastElements lines.
// A column is what stands at the same place of all lines or, where these are few or columns very many, at
// 2^shift neighbouring places.
struct ColumnLayout {
  static constexpr int64_t kLeastElements = 8;  // of a column
  static constexpr int64_t kMostColumns = int64_t{1} << 22;

  int64_t period = 0;  // 0: the output is no more than one column
  int64_t shift = 0;

  static ColumnLayout For(at::IntArrayRef sizes);
  int64_t count() const { return (period + (int64_t{1} << shift) - 1) >> shift; }
  int64_t Of(int64_t flat_index) const { return (flat_index % period) >> shift; }
};

// |got − exact| in a column is at most
//     multiple · noise in the column + share · scale of the column + floor · min(scale of the output, 1).
// The share is nearly half of the digits: it is for programs that are wrong, not for those that round
// otherwise. The floor is for functions that are as exact as numbers near 1 are, 2 sigmoid(2x) − 1 for
// tanh(x), say. A column of zeros says nothing of what programs make of it.
class ColumnBudget {
 public:
  struct Rule {
    double multiple, share, floor;
  };

  ColumnBudget() = default;
  explicit ColumnBudget(at::IntArrayRef sizes) : layout_(ColumnLayout::For(sizes)) {}

  bool empty() const { return layout_.period == 0; }
  const ColumnLayout& layout() const { return layout_; }
  const at::Tensor& allowed() const { return allowed_; }      // (count), float32
  const at::Tensor& error() const { return error_; }          // (count), float64: the noise
  at::Tensor AllowedEverywhere(at::IntArrayRef sizes) const;  // float64, of the output's sizes; not if empty

  // Noise is the largest finite error of any of `errors_of`, each as long as `exact`, float64. What is as
  // large as `least_fill` is left out.
  void MeasureByLoops(const at::Tensor& exact, const std::vector<const double*>& errors_of,
                      double least_fill);
  // The same by a kernel, of one or two (`wobble` may be undefined). A GPU is not waited for. `totals`:
  // float64, as the kernels total_rows and choose_fill give them.
  void MeasureByKernels(const at::Tensor& exact, const at::Tensor& eager, const at::Tensor& wobble,
                        const at::Tensor& totals);

  void AllowByLoops(const Rule& rule, double scale);
  void AllowByKernels(const Rule& rule, const at::Tensor& totals);

  // Counts the noise of another, of the same output; then Allow is due.
  void Widen(const ColumnBudget& other);
  // For kernels: rows may be allowed more from now on than they were when columns were given their budgets.
  void Matter();

  // One number of 64 bits. 0: no column allows less than some row, as where all is of one scale.
  const at::Tensor& matters() const { return matters_; }

 private:
  ColumnLayout layout_;
  at::Tensor scale_, error_;  // (count), float64, absolute
  at::Tensor allowed_, matters_;
};

}  // namespace tritogen
