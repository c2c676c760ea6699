// Few elements that a trial holds where all others are as generated.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "device/random.h"

namespace tritogen {

struct Plants {
  std::vector<int64_t> places;  // in the order of memory
  std::vector<double> values;
  size_t mild;  // so many of the values, the first ones, are in standard deviations; the others stand as they
                // are
};

// Four places, fewer in small tensors: two at random and two at ends of lines. At full strength those at ends
// hold what overflows in exponentials, as in `large`. A program that looks at samples rarely sees one of
// them, and if it does takes the trial for what it is. `apart`: two places at random instead, chosen so that
// no sample of each n-th element or line that sees one of those four, which the same state of `random` gives
// otherwise, sees one of these. REQUIRES: elements fill `sizes`, of which there is one at least, densely.
Plants DrawPlants(at::IntArrayRef sizes, at::IntArrayRef strides, double strength, bool apart,
                  const Random& random);

}  // namespace tritogen
