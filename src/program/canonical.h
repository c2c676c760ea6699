// One form for what can be said in several ways.
#pragma once

#include "program/program.h"

namespace tritogen {

// Rewrites operations that the recorder, PyTorch's dispatcher or in-place writing left in another form than
// the one a person would write, where the values stay the same:
//   - aten::convolution by the rank of its weight: conv2d, conv_transpose1d, …;
//   - native and in-place-safe forms whose further results nobody uses: _native_batch_norm_legit →
//   batch_norm,
//     native_layer_norm → layer_norm, max_pool2d_with_indices → max_pool2d, native_dropout → dropout, …;
//   - every change of shape without a change of order is a reshape with the sizes written out;
//   - names that a special case has: elu with SELU's constants, hardtanh(0, 6), norms of vectors;
//   - overloads for a number that promote as those for a tensor do: add.Scalar → add.Tensor;
// and gives the arguments of every operation that the catalogue knows their shortest form.
// REQUIRES: a program whose references are in range.
void Canonicalise(Program* program);

// A part of that: places along a dimension (of select, narrow, slices) count from its front, x[:, -1] of ten
// columns is x[:, 9]. For programs that keep the form they were drawn in.
void CountFromFront(Program* program);

}  // namespace tritogen
