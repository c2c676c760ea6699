// Small decoders and batches for tests of training.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "base/splitmix.h"
#include "train/batch_feed.h"
#include "train/training_pass.h"

namespace tritogen::train {

inline ModelConfig SmallModel(ModelFamily family, bool tied) {
  ModelConfig c;
  c.family = family;
  c.vocabulary = 83, c.hidden = 48, c.intermediate = 64, c.layers = 2;
  c.heads = 4, c.kv_heads = 2, c.head_dim = 32, c.max_positions = 256;
  c.qk_norm = family == ModelFamily::kQwen3;
  c.qkv_bias = family == ModelFamily::kQwen2;
  c.tied_embeddings = tied;
  return c;
}

// Values large enough that every layer does something.
inline void FillStrongly(uint64_t seed, FlatWeights* weights) {
  const at::NoGradGuard no_gradients;
  FillWeights(seed, &weights->weights);
  for (auto& [name, tensor] : weights->weights.Named()) {
    if (tensor.dim() == 2) {
      tensor.mul_(8);
    } else {
      tensor.add_(at::arange(tensor.numel(), at::kFloat).remainder_(7).sub_(3).mul_(0.05));
    }
  }
}

// Documents of these lengths (empty ones last), the last one of which is padding when `padded`.
inline DeviceBatch RandomBatch(uint64_t seed, const std::vector<int64_t>& lengths, int64_t vocabulary,
                               bool padded) {
  SplitMix random(seed);
  std::vector<int32_t> tokens, targets, positions, starts = {0};
  std::vector<float> weights;
  int64_t last = 0;
  for (size_t i = 0; i < lengths.size(); ++i) last = lengths[i] > 0 ? static_cast<int64_t>(i) : last;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const bool padding = padded && static_cast<int64_t>(i) == last;
    for (int64_t k = 0; k < lengths[i]; ++k) {
      const bool learns = !padding && k + 1 < lengths[i] && k % 5 != 0;
      tokens.push_back(static_cast<int32_t>(random.Below(static_cast<uint64_t>(vocabulary))));
      targets.push_back(learns ? static_cast<int32_t>(random.Below(static_cast<uint64_t>(vocabulary))) : -1);
      weights.push_back(learns ? 0.25f * static_cast<float>(1 + random.Below(4)) : 0.0f);
      positions.push_back(static_cast<int32_t>(k));
    }
    starts.push_back(static_cast<int32_t>(tokens.size()));
  }
  return OnHost({tokens, targets, weights, positions, starts}, /*page_locked=*/false);
}

}  // namespace tritogen::train
