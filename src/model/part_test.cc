#include "model/part.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "model/weights.h"

namespace tritogen {
namespace {

ModelConfig Config() {
  ModelConfig c;
  c.vocabulary = 192, c.hidden = 48, c.intermediate = 128, c.layers = 1;
  c.heads = 8, c.kv_heads = 4, c.head_dim = 6, c.max_positions = 64;
  c.qkv_bias = c.output_bias = c.mlp_bias = c.qk_norm = true;
  return c;
}

// Tensors of which every element is another number.
std::map<std::string, at::Tensor> Whole(const ModelConfig& config) {
  std::map<std::string, at::Tensor> whole;
  double from = 1;
  for (const ExpectedTensor& tensor : ExpectedTensors(config)) {
    const int64_t count = c10::multiply_integers(tensor.shape);
    whole[tensor.name] = at::arange(from, from + static_cast<double>(count), at::kFloat).view(tensor.shape);
    from += static_cast<double>(count);
  }
  return whole;
}

// By names, of each rank.
std::vector<std::map<std::string, at::Tensor>> Parts(const ModelConfig& config, int size) {
  const auto whole = Whole(config);
  std::vector<std::map<std::string, at::Tensor>> parts;
  for (int rank = 0; rank < size; ++rank) {
    DecoderWeights weights = MakePart(config, {rank, size}, at::kFloat, at::kCPU);
    CopyPart(
        config, {rank, size}, [&](const std::string& name) { return whole.at(name); }, &weights);
    EXPECT_EQ(weights.config.heads % weights.config.kv_heads, 0);
    parts.push_back(weights.Named());
  }
  return parts;
}

at::Tensor Joined(const std::vector<std::map<std::string, at::Tensor>>& parts, const std::string& name,
                  int64_t dimension) {
  std::vector<at::Tensor> pieces;
  for (const auto& part : parts) pieces.push_back(part.at(name));
  return at::cat(pieces, dimension);
}

TEST(Part, PartsTogetherAreTheWhole) {
  for (const int size : {1, 2, 4}) {
    const auto whole = Whole(Config());
    const auto parts = Parts(Config(), size);
    const std::string layer = "model.layers.0.";
    for (const char* name : {"self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight",
                             "self_attn.q_proj.bias", "self_attn.v_proj.bias", "mlp.gate_proj.weight",
                             "mlp.up_proj.weight", "mlp.up_proj.bias"})
      EXPECT_TRUE(at::equal(Joined(parts, layer + name, 0), whole.at(layer + name))) << name;
    for (const char* name : {"self_attn.o_proj.weight", "mlp.down_proj.weight"})
      EXPECT_TRUE(at::equal(Joined(parts, layer + name, 1), whole.at(layer + name))) << name;
    EXPECT_TRUE(at::equal(Joined(parts, "lm_head.weight", 0), whole.at("lm_head.weight")));
    for (const auto& part : parts) {
      for (const std::string& name :
           {std::string("model.embed_tokens.weight"), std::string("model.norm.weight"),
            layer + "self_attn.q_norm.weight", layer + "input_layernorm.weight"})
        EXPECT_TRUE(at::equal(part.at(name), whole.at(name))) << name;
    }
    for (const char* name : {"self_attn.o_proj.bias", "mlp.down_proj.bias"}) {  // added once
      at::Tensor sum = at::zeros({48});
      for (const auto& part : parts) sum += part.at(layer + name);
      EXPECT_TRUE(at::equal(sum, whole.at(layer + name))) << name;
    }
  }
}

TEST(Part, RanksShareAKeyHeadWhereThereAreFewer) {
  const std::string name = "model.layers.0.self_attn.k_proj.weight";
  const auto whole = Whole(Config());
  const auto parts = Parts(Config(), 8);
  for (int rank = 0; rank < 8; ++rank)
    EXPECT_TRUE(at::equal(parts[rank].at(name), whole.at(name).narrow(0, rank / 2 * 6, 6))) << rank;
}

TEST(Part, AVocabularyThatDoesNotDivideIsWholeOnAllRanks) {
  ModelConfig config = Config();
  config.vocabulary = 200;
  const auto whole = Whole(config);
  for (const auto& part : Parts(config, 2))
    EXPECT_TRUE(at::equal(part.at("lm_head.weight"), whole.at("lm_head.weight")));
}

TEST(Part, WhatDoesNotDivideIsRefusedWithItsNumbers) {
  const auto refused = [](const ModelConfig& config, int size) -> std::string {
    try {
      CheckDivides(config, size);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  ModelConfig config = Config();
  for (const int size : {1, 2, 4, 8}) EXPECT_EQ(refused(config, size), "");
  EXPECT_EQ(refused(config, 3), "a model with 8 attention heads cannot be divided among 3 ranks");
  config.heads = 12, config.kv_heads = 6;
  EXPECT_NE(refused(config, 4).find("6 key and value heads"), std::string::npos);
  EXPECT_EQ(refused(config, 2), "");
  config.intermediate = 94;
  EXPECT_NE(refused(config, 4).find("key and value"), std::string::npos);
  config.heads = 8, config.kv_heads = 8;
  EXPECT_NE(refused(config, 4).find("intermediate size of 94"), std::string::npos);
  EXPECT_EQ(refused(config, 1), "");
}

}  // namespace
}  // namespace tritogen
