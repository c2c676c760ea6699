// A decoder's weights as tensors, and the plain way to its logits.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/safetensors.h"

namespace tritogen {

// Matrices are [out, in]; what is applied to the same input is one matrix. Absent biases and norms are
// undefined tensors.
struct LayerWeights {
  at::Tensor input_norm;                     // [hidden]
  at::Tensor qkv, qkv_bias;                  // [(heads + 2 kv_heads) · head_dim, hidden]: q, k, v
  at::Tensor q_norm, k_norm;                 // [head_dim]
  at::Tensor attention_out, attention_bias;  // [hidden, heads · head_dim]
  at::Tensor mlp_norm;                       // [hidden]
  at::Tensor gate_up, gate_up_bias;          // [2 · intermediate, hidden]: gate, up
  at::Tensor down, down_bias;                // [hidden, intermediate]
};

struct DecoderWeights {
  ModelConfig config;
  at::Tensor embedding;   // [vocabulary, hidden]
  at::Tensor final_norm;  // [hidden]
  at::Tensor output;  // [vocabulary, hidden]; the embedding itself when they are tied; part of the rows in a
                      // rank's part (part.h)
  std::vector<LayerWeights> layers;

  // By the names of checkpoints (weights.h: ExpectedTensors): contiguous views, so that writing into them
  // writes into the matrices above.
  std::map<std::string, at::Tensor> Named() const;
};

// The weights with each tensor as `make` gives it for a shape, asked for in the order of their declaration.
// `output_rows`: of an output of its own; 0: the vocabulary.
DecoderWeights MakeWeights(const ModelConfig& config,
                           const std::function<at::Tensor(at::IntArrayRef shape)>& make,
                           int64_t output_rows = 0);
// Uninitialised memory of one dtype (float32, bfloat16, float16) on one device.
DecoderWeights MakeWeights(const ModelConfig& config, at::ScalarType dtype, at::Device device);
// A tensor on the CPU with a view's bytes, which must outlive it when they are aligned as the dtype wants.
at::Tensor TensorOf(const TensorView& view);
// Values as a model starts training with (normal, 0.02; norms 1; biases 0), equal on every device and
// machine.
void FillWeights(uint64_t seed, DecoderWeights* weights);

// Logits [texts, tokens, vocabulary] of whole texts, tokens [texts, tokens] int64 on the weights' device, in
// ATen's own operators only: the plain twin of the engine and of training. Differentiable when the weights
// ask for gradients. Norms and softmax in float32, as transformers has them; logits in the weights' dtype.
// `prompt`: with the angles of a text that was generated from its first tokens, `prompt` of them
// (RopeTensor); 0: all of it is the prompt.
at::Tensor PlainLogits(const DecoderWeights& weights, const at::Tensor& tokens, int64_t prompt = 0);

// [positions, 2, head_dim / 2] float32: cosines, sines of rotary positions, as kernels read them. Where
// frequencies depend on the length (dynamic RoPE), as they are when a model with a cache generates: a
// prompt's by its length, and those of each position behind it by the length of the text up to there.
at::Tensor RopeTensor(const ModelConfig& config, int64_t positions, at::Device device, int64_t prompt = 0);

}  // namespace tritogen
