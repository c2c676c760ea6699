// AdamW (Loshchilov and Hutter 2019, algorithm 2) with float32 master weights, over a part of flat weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "train/flat_weights.h"

namespace tritogen::train {

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double weight_decay = 0.1;  // of matrices only
  double clip = 1.0;          // the norm of all gradients, at most; 0: as they are
};

// What a checkpoint keeps of it: float32, [elements of the part].
struct AdamWState {
  at::Tensor master, first, second;
  int64_t steps = 0;
};

class AdamW {
 public:
  // Of elements [from, from + count) of the flat weights (all of them on one rank; a share under ZeRO-1). The
  // master weights begin as the weights are. `plain`: by ATen's operators instead of kernels/training.py.
  AdamW(const FlatWeights& weights, int64_t from, int64_t count, const AdamWOptions& options, bool plain);

  // Sum of the squares of the part's gradients: float32, [], on the device, not waited for.
  at::Tensor SquaredNorm(const at::Tensor& gradients) const;
  // One step. `gradients`: the flat ones, float32. `squared_norm`: of all gradients, [], on the device. Where
  // it is not finite nothing changes but the number of steps. Writes the part of the weights.
  void Step(const at::Tensor& gradients, const at::Tensor& squared_norm, double learning_rate);

  const AdamWState& state() const { return state_; }
  // REQUIRES: tensors of the part's size. Copies them, and writes the weights anew.
  void Restore(const AdamWState& state);

 private:
  // The corrections: what the first moment, and the root of the second, are divided by.
  void PlainStep(const at::Tensor& gradients, const at::Tensor& squared_norm, double rate,
                 double first_correction, double second_correction);
  void WriteWeights();
  int64_t Decayed() const;  // elements of the part

  FlatWeights weights_;
  int64_t from_, count_;
  AdamWOptions options_;
  bool plain_;
  AdamWState state_;
};

}  // namespace tritogen::train
