// What trials do to lines, the elements of a tensor along one dimension: their ends, halves and slices of
// them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "device/random.h"

namespace tritogen {

// Sizes of a tensor that broadcasts along everything but one dimension with more than one element.
std::vector<int64_t> SliceSizes(at::IntArrayRef sizes, const Random& random);

// Puts ends of long lines further from the rest than all others, the two of a line on either side of it,
// which is which by chance: who leaves out the rest of a line that is no whole block, or begins behind its
// first element, finds no other extremum. `x`: float64, whose elements are some `spread` from their mean.
void SpikeEnds(at::Tensor* x, double spread, const Random& random);

// A place at the last, or less often the first, element of a line along a dimension of more than two: so many
// elements of memory from where the tensor begins.
int64_t EndOfLine(at::IntArrayRef sizes, at::IntArrayRef strides, const Random& random);

// Powers of ten in every line, along whatever dimension: small ones on one half of it, wherever that begins,
// large ones on the other. At most 24 of up to two decades each, evenly spaced, so that products shrink and
// grow by 18 decades and stay within what fp32 can hold. `near_one`: float64.
at::Tensor Swings(const at::Tensor& near_one, double strength, const Random& random);

// Makes one slice along each dimension in which they are more than two all `value`: padding, say. What
// divides by the norm of a line, or by how many of its places count, meets nothing there.
void EmptySlices(at::Tensor* x, double value, const Random& random);

// Makes one slice of a mask all false, another one all true, along its first dimension of more than two.
void EmptyAndFullSlice(at::Tensor* mask, const Random& random);

// What slices are multiplied with: 10^-9 to 10^-1, that to `strength`. Mostly along the first dimension, so
// that what is summed or normed along the others is as small. float64.
at::Tensor Shrinks(const at::Tensor& x, double strength, const Random& random);

// Ten thousand to a million, as far as the dtype goes, for each slice along the first dimension, from time to
// time along others: to be added to all or taken from all. Who fills a block up with what is smaller than
// everything that they have seen finds it to be the largest there. Positive, float64.
at::Tensor Offsets(const at::Tensor& x, double strength, const Random& random);

}  // namespace tritogen
