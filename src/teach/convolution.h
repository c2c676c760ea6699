// What convolutions are made of, for lower_conv.cc and conv_phases.cc.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "teach/lowering.h"

namespace tritogen::teach {

struct Convolution {
  int64_t n, groups, c, o;  // images, groups, channels of one group in and out
  std::vector<int64_t> in, kernel, out, stride, padding, dilation;
  bool transposed;
  bool channels_last = false;  // of input (n, in…, channels) and of windows and weights: k… before c

  bool Strides() const {
    return std::ranges::any_of(stride, [](int64_t each) { return each > 1; });
  }
  double Flops() const {
    return 2.0 * static_cast<double>(n * groups * o * Product(out)) *
           static_cast<double>(c * Product(kernel));
  }
};

// A transposed convolution with a stride reads few elements for each result: along one dimension, result y
// takes those taps k for which y + padding - dilation · k is a multiple of the stride. So results that are a
// stride apart are a convolution by the same few weights, and all of them together, phase by phase as
// channels, are one convolution without a stride. Along each dimension y + shift = stride · q + first_phase +
// phase_step · j, where q is a place of the grid and j < phases; others have no tap and are 0.
struct PhaseGrid {
  int64_t shift = 0;
  int64_t first_phase = 0, phase_step = 1, phases = 1;
  int64_t places = 0;  // of the grid
  int64_t first_offset = 0, offset_step = 1,
          taps = 0;   // place q reads elements q + first_offset + offset_step · u
  bool whole = true;  // each phase of each place is a result
};

struct Phases {
  std::vector<PhaseGrid> dims;
  Convolution conv;  // without a stride; its output channels are (o, phase…), its results the grid's
  bool AllHaveTaps() const;
  bool AllWhole() const;
};

// Of numbers of this dtype. Nothing where it would not be less work.
std::optional<Phases> PhasesOf(const Builder& b, Dtype dtype, const Convolution& g);
// Weights (groups, o, phase…, tap…, c) of that convolution, from those of the transposed one.
Value FiltersOf(Builder& b, const Value& weight, const Convolution& g, const Phases& phases);
// Results (n, groups, o, y…) from those of that convolution (n, groups, o, phase…, q…).
Value ResultsOf(Builder& b, const Value& product, const Convolution& g, const Phases& phases);

}  // namespace tritogen::teach
