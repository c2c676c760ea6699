// A decoder's weights in one run of memory, so that the optimizer, the norm of gradients and what ranks send
// to each other are each one pass over it.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/decoder.h"

namespace tritogen::train {

struct FlatWeights {
  at::Tensor flat;         // [elements]; zero between tensors
  int64_t decayed = 0;     // the first so many elements are matrices; norms and biases follow
  DecoderWeights weights;  // views of `flat`, each on a multiple of 16 elements
};

// Zeros. `flat` has a multiple of `multiple` elements (ranks that share it). For gradients, too.
FlatWeights MakeFlatWeights(const ModelConfig& config, at::ScalarType dtype, at::Device device,
                            int64_t multiple = 1);

}  // namespace tritogen::train
