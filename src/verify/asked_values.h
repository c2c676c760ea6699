// Values that a program names to tell them from others: NaN and Inf where it looks for them, and numbers that
// it compares or clamps with and that no other trial comes near. Who leaves such a case out is right
// everywhere else.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

// By tensor leaf of the inputs: NaN, Inf, and numbers of at least kLeastLarge (inputs.h) that calls of
// forward ask for, which the input reaches element by element (IsLocal). Each once, not negative. Behind sums
// and matrix products one such element would be everywhere.
using AskedValues = std::vector<std::vector<double>>;
AskedValues AskedValuesOf(const Plan& plan);

bool AsksForAny(const AskedValues& asked);

// As generated but for a few elements at random places: NaN where it is asked for, both Infs, and numbers of
// both signs beyond those that are asked for, twice as large and, at a strength of 1, two thousand times,
// since an input may be scaled before it is asked. Integers, what is two-valued, and
// what a dtype cannot hold, are left out. Random, but the same for the same seed.
std::vector<at::Tensor> PlantAsked(const AskedValues& asked, const std::vector<at::Tensor>& generated,
                                   uint64_t seed, double strength);

}  // namespace tritogen
