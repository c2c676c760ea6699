// A decoder's weights in one run of memory, so that the optimizer, the norm of gradients and what ranks send
// to each other are each one pass over it.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "model/decoder.h"

namespace tritogen::train {

struct FlatWeights {
  at::Tensor flat;         // [elements]; zero between tensors
  int64_t decayed = 0;     // the first so many elements are matrices; norms and biases follow
  DecoderWeights weights;  // views of `flat`, each on a multiple of kFlatAlignment elements
};

inline constexpr int64_t kFlatAlignment = 16;

// Zeros. `flat` has a multiple of `multiple` · kFlatAlignment elements (ranks that share it). For gradients,
// too.
FlatWeights MakeFlatWeights(const ModelConfig& config, at::ScalarType dtype, at::Device device,
                            int64_t multiple = 1);

// The weights with each tensor as `make` gives it for its first element in the flat memory and its shape.
DecoderWeights WeightsByPlace(const ModelConfig& config,
                              const std::function<at::Tensor(int64_t from, at::IntArrayRef shape)>& make);

}  // namespace tritogen::train
