// Causal attention within the documents of a batch (kernels/packed_attention.py). Tokens' documents are known
// by their positions and ends alone, so that neither the number of documents nor the longest one matters.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "model/config.h"

namespace tritogen::train {

class PackedAttention {
 public:
  // Throws UserError for heads that the kernels have no form for.
  PackedAttention(const ModelConfig& config, at::ScalarType dtype, int64_t tokens, at::Device device);

  struct Inputs {
    at::Tensor rotated;  // [tokens, (heads + kv_heads) · head_dim]: queries, keys
    at::Tensor qkv;      // [tokens, (heads + 2 kv_heads) · head_dim], of which the values are read
  };
  // Of a batch, before anything else: starts and positions of its documents as in DeviceBatch.
  void Begin(const at::Tensor& starts, const at::Tensor& positions);
  // out [tokens, heads · head_dim]; lse [heads, tokens] float32: logarithms to base 2 of the softmax's sums.
  void Forward(const Inputs& in, const at::Tensor& out, const at::Tensor& lse) const;
  // Writes d_rotated and the values' part of d_qkv.
  void Backward(const Inputs& in, const at::Tensor& out, const at::Tensor& lse, const at::Tensor& d_out,
                const at::Tensor& d_rotated, const at::Tensor& d_qkv) const;

  std::vector<std::string> KernelNames() const;

 private:
  const int64_t tokens_, heads_, kv_heads_;
  const double scale_;
  const std::string variant_;        // as kernels are named: ".bf16.64"
  const int64_t rows_;               // tokens of a program
  at::Tensor positions_, ends_;      // [tokens] int32: in the document, and where that ends
  at::Tensor by_keys_, by_queries_;  // [tiles] int32: tiles of `rows_` tokens, those with most work first
  at::Tensor offsets_;               // [heads, tokens, 16], between the two kernels of Backward
};

}  // namespace tritogen::train
