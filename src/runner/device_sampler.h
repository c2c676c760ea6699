// Sampling on the device, as sampler.h says, by kernels/sampling.py. On CPU tensors the tile machine runs
// them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/runner.h"

namespace tritogen {

inline constexpr int64_t kSampleNumbers = 4, kSampleWhole = 5;  // parameters of a row: kernels/sampling.py
inline constexpr int64_t kTopLogits = kMostTopLogprobs;         // COUNT of kernels/emit.py

// Parameters of the rows, as kernels/sampling.py lays them out.
struct SampleRows {
  at::Tensor numbers;  // [rows, kSampleNumbers] float32
  at::Tensor whole;    // [rows, kSampleWhole] int32
};

// Where results go.
struct SampleOut {
  at::Tensor tokens;      // [rows] int32
  at::Tensor logprobs;    // [rows, 2] float32: of the token; the logits' normaliser
  at::Tensor top_tokens;  // [rows, kTopLogits] int32
  at::Tensor top_logits;  // [rows, kTopLogits] float32
};

class DeviceSampler {
 public:
  // `rows`, `slots`: at most. Takes scratch memory of the device.
  DeviceSampler(int64_t rows, int64_t slots, int64_t vocabulary, const at::Tensor& like);

  // Draws a token for each row of logits [rows, vocabulary] whose draw is not negative. `cuts`: some row has
  // top-k, top-p or min-p.
  void Sample(const at::Tensor& logits, const SampleRows& rows, bool cuts, const SampleOut& out);
  void TopLogits(const at::Tensor& logits, const SampleRows& rows, const SampleOut& out);

  // The slot's tokens seen are these.
  void SetSeen(int64_t slot, at::IntArrayRef tokens);
  std::vector<std::string> KernelNames() const;
  const at::Tensor& last() const { return last_; }  // [slots] int32: the token that each slot sampled last

 private:
  const int64_t vocabulary_, words_, chunks_;
  const std::string dtype_, form_, pick_tokens_;  // as kernels are named
  at::Tensor last_, seen_;
  at::Tensor cuts_, found_, places_;
};

}  // namespace tritogen
