// Forward and backward through a decoder. Two kinds: the plain twin, by ATen's operators and autograd, on any
// device, and the fused one, by Tritogen's own kernels (kernels/training.py), which the tile machine runs in
// tests.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>

#include "train/chosen_products.h"
#include "train/flat_weights.h"
#include "train/packed_batch.h"

namespace tritogen::train {

struct PassShape {
  int64_t tokens = 0;          // of a batch
  int64_t most_documents = 0;  // of a batch
  int64_t longest = 0;         // document, in tokens
  bool checkpointing = false;  // keep only what enters each layer; compute the rest again on the way back
  int64_t logit_tokens = 0;    // whose logits are held at once; 0: as many as make large products
  // Of an earlier run, or none yet: bf16 products on a GPU are chosen by trial. Otherwise they are ATen's.
  std::optional<ProductChoices> choices;
};

// PackedBatch on a device.
struct DeviceBatch {
  at::Tensor tokens, targets, positions;  // [tokens] int32
  at::Tensor weights;                     // [tokens] float32
  at::Tensor starts;                      // [most_documents + 1] int32
  at::Tensor learned;  // [any] int64: places of the tokens whose weight is not 0, ascending
};

class TrainingPass {
 public:
  virtual ~TrainingPass() = default;

  // What PassShape's choices have become; none where nothing is chosen.
  virtual ProductChoices Choices() const { return {}; }
  // The sum over tokens of weight · cross-entropy: float32, [], on the device, not waited for.
  virtual at::Tensor Loss(const DeviceBatch& batch) = 0;
  // The same, and makes the gradients that the pass was made with `scale` times the sum's; with `add`, adds
  // that to them. Nothing is written between tensors.
  virtual at::Tensor LossAndGradients(const DeviceBatch& batch, double scale, bool add) = 0;
};

// `weights` are read at each call: an optimizer may change them between calls. `gradients` are float32, laid
// out as the weights are. Both outlive the pass. Throws UserError for shapes that the kernels do not have.
std::unique_ptr<TrainingPass> MakePlainPass(const FlatWeights& weights, const FlatWeights& gradients,
                                            const PassShape& shape);
std::unique_ptr<TrainingPass> MakeFusedPass(const FlatWeights& weights, const FlatWeights& gradients,
                                            const PassShape& shape);

}  // namespace tritogen::train
