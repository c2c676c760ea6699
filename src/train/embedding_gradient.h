// The gradient of the embedding (kernels/training.py: embedding_backward): the same bits whenever it is
// computed, in a time that does not depend on how often a token occurs.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace tritogen::train {

class EmbeddingGradient {
 public:
  // Of `tokens` tokens; d_x will be [tokens, hidden] of `dtype`, float32 or bfloat16.
  EmbeddingGradient(int64_t tokens, int64_t hidden, at::ScalarType dtype, at::Device device);

  // gradient [vocabulary, hidden] float32 gets, at each of tokens [tokens] int32, the row of d_x more.
  void Add(const at::Tensor& tokens, const at::Tensor& d_x, const at::Tensor& gradient);

  std::vector<std::string> KernelNames() const { return {kernel_, "embedding_ends"}; }

 private:
  const std::string kernel_;
  at::Tensor ids_, order_;  // [tokens]: sorted, and where they were
  at::Tensor parts_;        // [chunks, 2, hidden] float32
};

}  // namespace tritogen::train
