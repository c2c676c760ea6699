#include <ATen/ATen.h>

#include <cmath>

#include "base/error.h"
#include "model/decoder.h"
#include "model/rope.h"

namespace tritogen {
namespace {

// Zhang & Sennrich 2019 (arXiv 1910.07467), over the last dimension.
at::Tensor RmsNorm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor scale = at::rsqrt(wide.square().mean(-1, /*keepdim=*/true) + eps);
  return weight * (wide * scale).to(x.scalar_type());
}

struct Angles {
  at::Tensor cos, sin;  // [tokens, head_dim / 2] float32
};

Angles AnglesOf(const ModelConfig& config, int64_t tokens, at::Device device) {
  const RopeTable table = MakeRopeTable(config, tokens);
  const auto options = at::TensorOptions(at::kFloat);
  const at::Tensor frequencies =
      at::tensor(at::ArrayRef<float>(table.inverse_frequencies), options).to(device);
  const at::Tensor angles = at::outer(at::arange(tokens, options.device(device)), frequencies);
  return {angles.cos() * table.attention_factor, angles.sin() * table.attention_factor};
}

Angles GeneratedAngles(const ModelConfig& config, const at::Tensor& tokens, int64_t prompt) {
  const at::Tensor both = RopeTensor(config, tokens.size(1), tokens.device(), prompt);
  return {both.select(1, 0), both.select(1, 1)};
}

// Su et al. 2021 (arXiv 2104.09864), each head's halves as the pairs' parts; x [texts, heads, tokens, dim].
at::Tensor Rotate(const at::Tensor& x, const Angles& angles) {
  const auto halves = x.to(at::kFloat).chunk(2, -1);
  const at::Tensor first = halves[0] * angles.cos - halves[1] * angles.sin;
  const at::Tensor second = halves[1] * angles.cos + halves[0] * angles.sin;
  return at::cat({first, second}, -1).to(x.scalar_type());
}

at::Tensor Attention(const ModelConfig& c, const LayerWeights& layer, const Angles& angles,
                     const at::Tensor& x) {
  const int64_t texts = x.size(0), tokens = x.size(1);
  const at::Tensor qkv = at::linear(x, layer.qkv, layer.qkv_bias)
                             .view({texts, tokens, c.heads + 2 * c.kv_heads, c.head_dim})
                             .transpose(1, 2);
  at::Tensor q = qkv.narrow(1, 0, c.heads), k = qkv.narrow(1, c.heads, c.kv_heads);
  const at::Tensor v = qkv.narrow(1, c.heads + c.kv_heads, c.kv_heads);
  if (c.qk_norm) {
    q = RmsNorm(q, layer.q_norm, c.rms_norm_eps);
    k = RmsNorm(k, layer.k_norm, c.rms_norm_eps);
  }
  const at::Tensor mixed = at::scaled_dot_product_attention(
      Rotate(q, angles), Rotate(k, angles), v, /*attn_mask=*/{}, /*dropout_p=*/0, /*is_causal=*/true,
      /*scale=*/std::nullopt, /*enable_gqa=*/c.heads != c.kv_heads);
  return at::linear(mixed.transpose(1, 2).reshape({texts, tokens, c.heads * c.head_dim}), layer.attention_out,
                    layer.attention_bias);
}

at::Tensor Mlp(const LayerWeights& layer, const at::Tensor& x) {
  const auto halves = at::linear(x, layer.gate_up, layer.gate_up_bias).chunk(2, -1);
  return at::linear(at::silu(halves[0]) * halves[1], layer.down, layer.down_bias);
}

}  // namespace

at::Tensor PlainLogits(const DecoderWeights& weights, const at::Tensor& tokens, int64_t prompt) {
  TRITOGEN_CHECK(tokens.dim() == 2 && tokens.scalar_type() == at::kLong);
  const ModelConfig& config = weights.config;
  const Angles angles = prompt > 0 ? GeneratedAngles(config, tokens, prompt)
                                   : AnglesOf(config, tokens.size(1), tokens.device());
  at::Tensor hidden = at::embedding(weights.embedding, tokens);
  for (const LayerWeights& layer : weights.layers) {
    hidden =
        hidden + Attention(config, layer, angles, RmsNorm(hidden, layer.input_norm, config.rms_norm_eps));
    hidden = hidden + Mlp(layer, RmsNorm(hidden, layer.mlp_norm, config.rms_norm_eps));
  }
  return at::linear(RmsNorm(hidden, weights.final_norm, config.rms_norm_eps), weights.output);
}

}  // namespace tritogen
