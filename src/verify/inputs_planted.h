// Few elements that a trial holds where all others are as generated.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "device/random.h"

namespace tritogen {

// The first `mild` values are in standard deviations of what lies there, all others stand as they are.
struct Plants {
  std::vector<int64_t> places;  // in the order of memory
  std::vector<double> values;
  size_t mild;
};

// Four places, fewer in small tensors: two at random and two at ends of lines. At full strength those at ends
// hold what overflows in exponentials, as in `large`. A program that looks at samples rarely sees one of
// them, but if it does takes the trial for what it is. `apart`: three places at random instead, one mild and
// two not, so that no sample of each n-th element or line that sees one of those four, which `random` gives
// otherwise in the same state, sees one of these. REQUIRES: elements fill `sizes` densely, one at least.
Plants DrawPlants(at::IntArrayRef sizes, at::IntArrayRef strides, double strength, bool apart,
                  const Random& random);

}  // namespace tritogen
