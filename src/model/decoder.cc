#include "model/decoder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "model/aten_dtype.h"
#include "model/rope.h"

namespace tritogen {
namespace {

at::Tensor Rows(const at::Tensor& matrix, int64_t from, int64_t count) {
  return matrix.defined() ? matrix.narrow(0, from, count) : matrix;
}

using TensorMaker = std::function<at::Tensor(at::IntArrayRef)>;

LayerWeights MakeLayer(const ModelConfig& c, const TensorMaker& maker) {
  const int64_t q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
  const auto make = [&](bool wanted, at::IntArrayRef shape) { return wanted ? maker(shape) : at::Tensor(); };
  LayerWeights layer;
  layer.input_norm = make(true, {c.hidden});
  layer.qkv = make(true, {q + 2 * kv, c.hidden});
  layer.qkv_bias = make(c.qkv_bias, {q + 2 * kv});
  layer.q_norm = make(c.qk_norm, {c.head_dim});
  layer.k_norm = make(c.qk_norm, {c.head_dim});
  layer.attention_out = make(true, {c.hidden, q});
  layer.attention_bias = make(c.output_bias, {c.hidden});
  layer.mlp_norm = make(true, {c.hidden});
  layer.gate_up = make(true, {2 * c.intermediate, c.hidden});
  layer.gate_up_bias = make(c.mlp_bias, {2 * c.intermediate});
  layer.down = make(true, {c.hidden, c.intermediate});
  layer.down_bias = make(c.mlp_bias, {c.hidden});
  return layer;
}

void NameLayer(const ModelConfig& c, const LayerWeights& layer, int64_t index,
               std::map<std::string, at::Tensor>* out) {
  const std::string at = fmt::format("model.layers.{}.", index);
  const auto add = [&](std::string_view name, const at::Tensor& tensor) {
    if (tensor.defined()) out->emplace(at + std::string(name), tensor);
  };
  const auto linear = [&](const std::string& name, const at::Tensor& weight, const at::Tensor& bias,
                          int64_t from, int64_t count) {
    add(name + ".weight", Rows(weight, from, count));
    add(name + ".bias", Rows(bias, from, count));
  };
  const int64_t q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
  add("input_layernorm.weight", layer.input_norm);
  linear("self_attn.q_proj", layer.qkv, layer.qkv_bias, 0, q);
  linear("self_attn.k_proj", layer.qkv, layer.qkv_bias, q, kv);
  linear("self_attn.v_proj", layer.qkv, layer.qkv_bias, q + kv, kv);
  add("self_attn.q_norm.weight", layer.q_norm);
  add("self_attn.k_norm.weight", layer.k_norm);
  linear("self_attn.o_proj", layer.attention_out, layer.attention_bias, 0, c.hidden);
  add("post_attention_layernorm.weight", layer.mlp_norm);
  linear("mlp.gate_proj", layer.gate_up, layer.gate_up_bias, 0, c.intermediate);
  linear("mlp.up_proj", layer.gate_up, layer.gate_up_bias, c.intermediate, c.intermediate);
  linear("mlp.down_proj", layer.down, layer.down_bias, 0, c.hidden);
}

}  // namespace

std::map<std::string, at::Tensor> DecoderWeights::Named() const {
  std::map<std::string, at::Tensor> named = {{"model.embed_tokens.weight", embedding},
                                             {"model.norm.weight", final_norm}};
  if (!config.tied_embeddings) named.emplace("lm_head.weight", output);
  for (size_t i = 0; i < layers.size(); ++i) NameLayer(config, layers[i], static_cast<int64_t>(i), &named);
  return named;
}

DecoderWeights MakeWeights(const ModelConfig& config, const TensorMaker& make, int64_t output_rows) {
  DecoderWeights weights{config, make({config.vocabulary, config.hidden}), make({config.hidden})};
  if (output_rows == 0) output_rows = config.vocabulary;
  weights.output = config.tied_embeddings ? weights.embedding : make({output_rows, config.hidden});
  for (int64_t i = 0; i < config.layers; ++i) weights.layers.push_back(MakeLayer(config, make));
  return weights;
}

DecoderWeights MakeWeights(const ModelConfig& config, at::ScalarType dtype, at::Device device) {
  const at::TensorOptions options = at::TensorOptions(dtype).device(device);
  return MakeWeights(config, [&](at::IntArrayRef shape) { return at::empty(shape, options); });
}

at::Tensor TensorOf(const TensorView& view) {
  const at::ScalarType type = WeightScalarType(view.dtype);
  const size_t align = DtypeSize(view.dtype);
  if (reinterpret_cast<uintptr_t>(view.bytes.data()) % align == 0) {
    return at::from_blob(const_cast<char*>(view.bytes.data()), view.shape, at::TensorOptions(type));
  }
  at::Tensor copy = at::empty(view.shape, at::TensorOptions(type));
  std::memcpy(copy.data_ptr(), view.bytes.data(), view.bytes.size());
  return copy;
}

at::Tensor RopeTensor(const ModelConfig& config, int64_t positions, at::Device device, int64_t prompt) {
  const RopeTable table = MakeRopeTable(config, prompt);
  const int64_t half = config.head_dim / 2;
  at::Tensor frequencies = at::tensor(table.inverse_frequencies);
  const int64_t first = StretchBeyond(config) > 0 ? std::max(prompt, config.max_positions) : positions;
  if (first < positions) {
    frequencies = frequencies.repeat({positions, 1});
    float* const rows = frequencies.mutable_data_ptr<float>();
    for (int64_t p = first; p < positions; ++p) {
      std::ranges::copy(MakeRopeTable(config, p + 1).inverse_frequencies, rows + p * half);
    }
  }
  const at::Tensor angles = at::arange(positions, at::kFloat).unsqueeze(1) * frequencies;
  return at::stack({angles.cos(), angles.sin()}, 1).mul_(table.attention_factor).to(device);
}

}  // namespace tritogen
