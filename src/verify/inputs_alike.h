// Inputs that agree with each other, or are opposite: angles of nothing and of half a turn, distances of
// zero, sums that cancel. Random draws never are that, and programs are wrong there first: a cosine of
// 1.0000001 without a clamp, a division by a distance.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

// Whether two inputs, floating ones or integers, have the same sizes and dtype.
bool HasAlike(const Plan& plan);

// Of generated inputs that have the same sizes and dtype, the second and those behind it become the first, or
// the first negated (where some of it is negative), or stay, by turns: the whole of what stands at one place
// along the first dimension (of vectors single elements), from a random place on. Integers become the first,
// the first up to a random place of each line, the first one place later, or stay, as far as they are between
// the least and the largest that were generated there. Tensors of two values stay, and integers in order;
// where places are written to (`keeps_apart`) also those that differ everywhere. Nothing where none changes.
// Random, but the same for the same seed.
std::optional<std::vector<at::Tensor>> Alike(const std::vector<at::Tensor>& generated, bool keeps_apart,
                                             uint64_t seed);

}  // namespace tritogen
