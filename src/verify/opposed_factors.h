// Inputs whose products are taken for their size, as those of queries and keys are: where the factors have
// opposite signs, whole rows of the products lie far below zero. A program that fills its block of keys up
// with -100 or -10000 in the place of -Inf is right until then.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

struct OpposedFactors {
  std::vector<int> sides;  // by tensor leaf of the inputs: 1 and -1 for those of the two factors, else 0
  int64_t terms = 0;       // of each product's sum
  double depth = 0;        // how far below zero products are that are divided by the root of their terms
  // Forward orders products (OrdersFreely): they differ. Equal ones are exact in every precision.
  bool apart = false;

  bool empty() const { return terms == 0; }
};

// How far below zero products may lie without being another case to the program: it fills masks up with
// numbers itself.
double MostDepth(const Plan& plan);

// Of the first product of inputs, each of which reaches its own factor element by element (IsLocal), that
// likewise reaches a call that takes it for its size. Empty: none.
OpposedFactors OpposedFactorsOf(const Plan& plan);

// As generated but for the two factors: of one number each, powers of two of opposite signs, so that products
// are as far below zero as they say, that times `strength`, which is a power of two as well; or close to such
// numbers, and products some units apart. Random, but the same for the same seed.
std::vector<at::Tensor> Oppose(const OpposedFactors& factors, const std::vector<at::Tensor>& generated,
                               uint64_t seed, double strength);

}  // namespace tritogen
