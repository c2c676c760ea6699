#include "model/weights.h"

#include <fmt/ranges.h>

#include <set>

#include "base/error.h"
#include "base/utf8.h"
#include "model/checkpoint.h"

namespace tritogen {
namespace {

constexpr size_t kShownProblems = 8;

void AddLayer(const ModelConfig& c, int64_t layer, std::vector<ExpectedTensor>* out) {
  const std::string at = fmt::format("model.layers.{}.", layer);
  const auto add = [&](std::string_view name, std::vector<int64_t> shape) {
    out->push_back({at + std::string(name), std::move(shape)});
  };
  const auto linear = [&](const std::string& name, int64_t rows, int64_t columns, bool bias) {
    add(name + ".weight", {rows, columns});
    if (bias) add(name + ".bias", {rows});
  };
  const int64_t q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
  add("input_layernorm.weight", {c.hidden});
  linear("self_attn.q_proj", q, c.hidden, c.qkv_bias);
  linear("self_attn.k_proj", kv, c.hidden, c.qkv_bias);
  linear("self_attn.v_proj", kv, c.hidden, c.qkv_bias);
  if (c.qk_norm) {
    add("self_attn.q_norm.weight", {c.head_dim});
    add("self_attn.k_norm.weight", {c.head_dim});
  }
  linear("self_attn.o_proj", c.hidden, q, c.output_bias);
  add("post_attention_layernorm.weight", {c.hidden});
  linear("mlp.gate_proj", c.intermediate, c.hidden, c.mlp_bias);
  linear("mlp.up_proj", c.intermediate, c.hidden, c.mlp_bias);
  linear("mlp.down_proj", c.hidden, c.intermediate, c.mlp_bias);
}

bool IsHarmless(const ModelConfig& config, const std::string& name) {
  return name.ends_with(".rotary_emb.inv_freq") || (config.tied_embeddings && name == "lm_head.weight");
}

bool IsWeightDtype(Dtype dtype) {
  return dtype == Dtype::kFloat32 || dtype == Dtype::kBFloat16 || dtype == Dtype::kFloat16;
}

}  // namespace

std::vector<ExpectedTensor> ExpectedTensors(const ModelConfig& config) {
  std::vector<ExpectedTensor> tensors = {{"model.embed_tokens.weight", {config.vocabulary, config.hidden}}};
  for (int64_t layer = 0; layer < config.layers; ++layer) AddLayer(config, layer, &tensors);
  tensors.push_back({"model.norm.weight", {config.hidden}});
  if (!config.tied_embeddings) tensors.push_back({"lm_head.weight", {config.vocabulary, config.hidden}});
  return tensors;
}

int64_t Parameters(const ModelConfig& config) {
  int64_t sum = 0;
  for (const ExpectedTensor& tensor : ExpectedTensors(config)) {
    int64_t elements = 1;
    for (const int64_t size : tensor.shape) elements *= size;
    sum += elements;
  }
  return sum;
}

std::vector<std::string> WeightProblems(const ModelConfig& config, const TensorMap& tensors) {
  std::vector<std::string> problems;
  std::set<std::string> known;
  for (const auto& expected : ExpectedTensors(config)) {
    known.insert(expected.name);
    const auto found = tensors.find(expected.name);
    if (found == tensors.end()) {
      problems.push_back(fmt::format("{} is missing", expected.name));
    } else if (found->second.shape != expected.shape) {
      problems.push_back(fmt::format("{} has shape [{}], [{}] is expected", expected.name,
                                     fmt::join(found->second.shape, ", "), fmt::join(expected.shape, ", ")));
    } else if (!IsWeightDtype(found->second.dtype)) {
      problems.push_back(fmt::format("{} is {}; float32, bfloat16 and float16 are supported", expected.name,
                                     DtypeName(found->second.dtype)));
    }
  }
  for (const auto& [name, tensor] : tensors) {
    if (!known.contains(name) && !IsHarmless(config, name)) {
      problems.push_back(fmt::format("{} is unexpected", PrintableText(name, 200)));
    }
  }
  return problems;
}

void CheckWeights(const ModelConfig& config, const TensorMap& tensors, std::string_view where) {
  std::vector<std::string> problems = WeightProblems(config, tensors);
  if (problems.empty()) return;
  const size_t count = problems.size();
  if (count > kShownProblems) problems.resize(kShownProblems);
  throw UserError(fmt::format("the weights in {} do not fit its config.json ({} problem{}): {}{}", where,
                              count, count == 1 ? "" : "s", fmt::join(problems, "; "),
                              count > kShownProblems ? "; …" : ""));
}

void CheckFinite(const TensorMap& tensors, std::string_view where) {
  for (const auto& [name, tensor] : tensors) {
    if (const auto bad = FirstNonFinite(tensor)) {
      throw UserError(fmt::format("the weights in {} are damaged: element {} of {} is NaN or infinite", where,
                                  *bad, PrintableText(name, 200)));
    }
  }
}

}  // namespace tritogen
