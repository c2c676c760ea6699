// How much arithmetic a training step asks for, by which its speed is judged.
#pragma once

#include "model/config.h"

namespace tritogen::train {

struct BatchSize {
  double tokens = 0, learned = 0;  // learned: with a loss
  double squared_lengths = 0;      // the sum of the squares of documents' lengths
};

// FLOPs of forward and backward: 6 for each token and parameter of a product (looking up an embedding is
// none), of the output matrix for learned tokens only, and the attention's two products over the causal half
// of each document. What is computed twice (checkpointing) counts once: model FLOPs (Chowdhery et al. 2022,
// arXiv 2204.02311, B, where every token is learned).
double TrainingFlops(const ModelConfig& config, const BatchSize& batch);

}  // namespace tritogen::train
