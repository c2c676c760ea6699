// Frequencies of rotary position embeddings, with the scalings of transformers.
#pragma once

#include <vector>

#include "model/config.h"

namespace tritogen {

struct RopeTable {
  std::vector<float> inverse_frequencies;  // head_dim / 2: radians a position
  float attention_factor = 1;              // cos and sin are multiplied by it
};

// `length`: positions in use; only kDynamic asks, and only beyond max_positions (StretchBeyond). Computed in
// fp32, as transformers does, so that angles agree at far positions, too. Formulas: kLinear Chen et al. 2023
// (position interpolation); kDynamic the NTK-aware base; kYarn Peng et al. 2023, arXiv 2309.00071; kLlama3
// Meta's release of Llama 3.1.
RopeTable MakeRopeTable(const ModelConfig& config, int64_t length = 0);

// From more positions than this on frequencies depend on how many there are; 0: they never do.
int64_t StretchBeyond(const ModelConfig& config);

// Throws UserError when a model has not so many positions.
void CheckContext(const ModelConfig& config, int64_t context);

}  // namespace tritogen
