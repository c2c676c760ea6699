// A model that is trained: weights, gradients, the pass over them and the optimizer, over all ranks (ZeRO-1,
// Rajbhandari et al. 2020: each rank keeps the optimizer's state of its share of the weights).
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <vector>

#include "ranks/ranks.h"
#include "train/batch_feed.h"
#include "train/checkpoint.h"
#include "train/late_numbers.h"
#include "train/optimizer.h"
#include "train/options.h"
#include "train/training_pass.h"

namespace tritogen::train {

// What ranks tell each other with a step; all learn the sum when they read its numbers.
struct StepWishes {
  bool stop = false, save = false;
  int64_t total = 0;  // rank 0's: how many steps it shall be
};

struct StepNumbers {
  std::vector<float> losses;  // of the batches: sums of weight · cross-entropy
  double squared_norm = 0;    // of the gradients
  StepWishes wishes;          // of any rank
};

class Trainer {
 public:
  // Weights are zero until Restore. Throws UserError for shapes that the fused pass does not have.
  Trainer(const ModelConfig& config, const TrainOptions& options, const PassShape& shape, at::Device device,
          Ranks* ranks);

  // Of this rank: as TrainingPass does it. For all ranks together: run_products.h.
  std::set<std::string> SetProducts(const std::optional<ProductChoices>& taken) {
    return pass_->SetProducts(taken);
  }
  ProductChoices products() const { return pass_->Products(); }

  void Restore(const HostState& state);
  // All of the state on rank 0, nothing on the others. Waits for the device.
  std::optional<HostState> Gather();

  // One step, put on the device's stream. The loss is sum(weight · CE) / sum(weight) over the step's batches.
  // Where it, or the gradients' norm, is not finite the weights stay as they are.
  LateNumbers Step(const StepBatches& batches, double learning_rate, const StepWishes& wishes);
  StepNumbers Wait(LateNumbers* numbers, int64_t batches);

  // Mean loss over batches, of which each rank has its own: sum(weight · CE) / sum(weight).
  double Loss(const std::vector<DeviceBatch>& mine);

  const DecoderWeights& weights() const { return weights_.weights; }

 private:
  std::vector<float> Wait(LateNumbers* numbers);
  at::Tensor GatherPart(const at::Tensor& part);  // of the flat weights' size, on the device

  at::Device device_;
  Ranks* ranks_;
  FlatWeights weights_, gradients_;
  std::unique_ptr<TrainingPass> pass_;
  std::unique_ptr<AdamW> optimizer_;
};

}  // namespace tritogen::train
