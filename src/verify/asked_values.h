// Values that a program names to tell them from others: NaN and Inf where it looks for them, numbers that it
// compares or clamps with and that no other trial comes near, the first and the last of what integers choose
// from, and integers that it names. Who leaves such a case out is right everywhere else.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "verify/asked_integers.h"

namespace tritogen {

// What calls of forward ask of an input that reaches them element by element (IsLocal). Behind sums and
// matrix products one such element would be everywhere, but NaN that forward makes a number of, and what
// makes a sum of a line too large, is in its rows alone.
struct Asked {
  // NaN, Inf, and numbers of at least kLeastLarge (inputs.h); each once, not negative but for a lone -Inf
  std::vector<double> beyond;
  // Compared with, but for 0, which other trials have; ties of roundings; -0 where its sign is asked for.
  std::vector<double> exactly;
  std::vector<double> beside;  // an end of what a call is defined for
  AskedIntegers integers;
  // Another tensor is added before, and only where that is 0 do numbers come out as they are asked for: they
  // stand in more places.
  bool mixed = false;

  bool empty() const { return beyond.empty() && exactly.empty() && beside.empty() && integers.empty(); }
};

// By tensor leaf of the inputs.
using AskedValues = std::vector<Asked>;
AskedValues AskedValuesOf(const Plan& plan);

bool AsksForAny(const AskedValues& asked);

// NaN, which is no longer asked for afterwards: a trial of its own has it. Beside Inf it hides whether a
// program that asks if all numbers are finite looks for both.
AskedValues TakeMissing(AskedValues* asked);

// -Inf alone where Inf is asked for: `x < inf` is right of all others.
AskedValues MinusInfOf(const AskedValues& asked);

// As generated but for a few elements at random places: NaN where it is asked for, both Infs, and numbers of
// both signs beyond those that are asked for, twice as large and, at a strength of 1, two thousand times,
// since an input may be scaled before it is asked; numbers themselves, where the dtype has them. Choices have
// the first and the last in each line, in the order in which they were; integers that are named stand in two
// places each (those that make a comparison come out as it never did before all others), those of a whole
// range are drawn from it, and among those that are only computed with stand negative and large ones. Other
// integers, floats that are two-valued, and what a dtype cannot hold, are left out. Random, but the same for
// the same seed.
std::vector<at::Tensor> PlantAsked(const AskedValues& asked, const std::vector<at::Tensor>& generated,
                                   uint64_t seed, double strength);

}  // namespace tritogen
