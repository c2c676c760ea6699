// How much arithmetic a training step asks for, by which its speed is judged.
#pragma once

#include "model/config.h"

namespace tritogen::train {

// FLOPs of forward and backward over `tokens` tokens in documents whose lengths' squares add up to
// `squared_lengths`: 6 for each token and parameter of a product (the output matrix, too; looking up an
// embedding is none), and the attention's two products over the causal half of each document. What is
// computed twice (checkpointing) counts once: model FLOPs (Chowdhery et al. 2022, arXiv 2204.02311, B).
double TrainingFlops(const ModelConfig& config, double tokens, double squared_lengths);

}  // namespace tritogen::train
