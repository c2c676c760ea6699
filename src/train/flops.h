// How much arithmetic a training step asks for, by which its speed is judged.
#pragma once

#include "model/config.h"

namespace tritogen::train {

struct BatchSize {
  double tokens = 0, learned = 0;  // learned: with a loss
  double squared_lengths = 0;      // the sum of the squares of documents' lengths
};

// FLOPs of forward and backward. What is computed twice (checkpointing) counts once.
struct StepFlops {
  double products = 0;   // 6 for each token and parameter (looking up an embedding is none); of the output
                         // matrix for learned tokens only
  double attention = 0;  // 12 · layers · heads · head_dim for each pair of a document's tokens
  // What MFU is a share of: (6 N + 12 L H Q T) a token, T the length of its document (Chowdhery et al. 2022,
  // arXiv 2204.02311, appendix B, where every token is learned).
  double model() const { return products + attention; }
  // Without the pairs that a causal mask leaves out, which that formula counts.
  double causal() const { return products + attention / 2; }
};
StepFlops TrainingFlops(const ModelConfig& config, const BatchSize& batch);

}  // namespace tritogen::train
