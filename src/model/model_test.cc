// Configurations, RoPE tables and names of weights against transformers (tools/make_model_golden.py).
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json_text.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "model/rope.h"
#include "model/weights.h"

namespace tritogen {
namespace {

using nlohmann::json;

std::string Golden(const std::string& name) {
  return std::string(TRITOGEN_SOURCE_DIR) + "/tests/golden/models/" + name;
}

json SmallConfig() {
  return {{"model_type", "llama"},
          {"architectures", {"LlamaForCausalLM"}},
          {"vocab_size", 96},
          {"hidden_size", 32},
          {"intermediate_size", 48},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"max_position_embeddings", 4096},
          {"rope_theta", 10000.0}};
}

std::string ErrorOf(const json& config) {
  try {
    ParseModelConfig(config.dump());
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

TEST(Rope, TablesAreThoseOfTransformers) {
  const json cases = ParseJson(ReadFile(Golden("ropes.json")));
  ASSERT_GE(cases.size(), 20u);
  for (const json& item : cases) {
    const RopeTable table = MakeRopeTable(ParseModelConfig(item["config"].dump()), item["length"]);
    const auto expected = item["frequencies"].get<std::vector<double>>();
    ASSERT_EQ(table.inverse_frequencies.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {  // 4 units in the last place
      EXPECT_NEAR(table.inverse_frequencies[i], expected[i], 4.8e-7 * expected[i])
          << item["config"] << " " << i;
    }
    EXPECT_FLOAT_EQ(table.attention_factor, item["attention_factor"].get<float>()) << item["config"];
  }
}

TEST(Rope, BothSpellingsOfAConfigurationAreOne) {
  json old_way = SmallConfig(), new_way = SmallConfig();
  old_way["rope_theta"] = 5e5;
  old_way["rope_scaling"] = {{"type", "linear"}, {"factor", 4.0}};
  new_way.erase("rope_theta");
  new_way["rope_parameters"] = {{"rope_type", "linear"}, {"factor", 4.0}, {"rope_theta", 5e5}};
  EXPECT_EQ(MakeRopeTable(ParseModelConfig(old_way.dump())).inverse_frequencies,
            MakeRopeTable(ParseModelConfig(new_way.dump())).inverse_frequencies);
}

TEST(Weights, NamesAndShapesAreThoseOfTransformers) {
  const json cases = ParseJson(ReadFile(Golden("models.json")));
  ASSERT_GE(cases.size(), 5u);
  for (const json& item : cases) {
    std::map<std::string, std::vector<int64_t>> ours;
    for (const auto& tensor : ExpectedTensors(ParseModelConfig(item["config"].dump())))
      ours[tensor.name] = tensor.shape;
    EXPECT_EQ(ours, (item["tensors"].get<std::map<std::string, std::vector<int64_t>>>())) << item["config"];
  }
}

TEST(Config, WhatIsWrittenReadsBackTheSame) {
  json all = ParseJson(ReadFile(Golden("ropes.json")));
  const json models = ParseJson(ReadFile(Golden("models.json")));
  all.insert(all.end(), models.begin(), models.end());
  for (json& item : all) {
    item["config"]["eos_token_id"] = {1, 2};
    const ModelConfig config = ParseModelConfig(item["config"].dump());
    const std::string written = WriteModelConfig(config, "bfloat16");
    EXPECT_EQ(WriteModelConfig(ParseModelConfig(written), "bfloat16"), written);
    EXPECT_EQ(ParseModelConfig(written).eos, (std::vector<int64_t>{1, 2}));
    EXPECT_EQ(MakeRopeTable(ParseModelConfig(written), 9000).inverse_frequencies,
              MakeRopeTable(config, 9000).inverse_frequencies);
  }
}

TEST(Config, RefusesWhatItCannotRun) {
  EXPECT_EQ(ErrorOf(SmallConfig()), "");
  const std::vector<std::tuple<std::string, json, std::string>> cases = {
      {"model_type", "mamba", "architecture 'LlamaForCausalLM' of type 'mamba' is not supported"},
      {"architectures", {"LlamaForSequenceClassification"}, "not supported"},
      {"num_key_value_heads", 3, "no multiple"},
      {"hidden_size", 34, "no multiple"},
      {"hidden_size", -1, "hidden_size: -1 is outside"},
      {"hidden_size", int64_t{1} << 60, "outside"},
      {"num_hidden_layers", 2.5, "expected an integer"},
      {"head_dim", 7, "odd"},
      {"hidden_act", "gelu", "only silu"},
      {"rope_scaling", {{"rope_type", "longrope"}, {"factor", 2}}, "RoPE 'longrope' is not supported"},
      {"rope_scaling", {{"rope_type", "linear"}}, "'factor' is missing"},
      {"rope_scaling", {{"rope_type", "linear"}, {"factor", "x"}}, "expected a number"},
      {"rope_theta", 0, "outside"},
      {"partial_rotary_factor", 0.5, "partial rotary"},
      {"layer_types", {"full_attention", "sliding_attention"}, "layer 1 has sliding-window attention"},
      {"layer_types", {"full_attention", "linear_attention"}, "layer_types[1]: only full_attention"},
      {"vocab_size", nullptr, "expected an integer"},
  };
  for (const auto& [key, value, expected] : cases) {
    json config = SmallConfig();
    config[key] = value;
    EXPECT_NE(ErrorOf(config).find(expected), std::string::npos) << key << ": " << ErrorOf(config);
  }
}

// Which layers have a window, and how long it is: as Qwen2Config of transformers says it.
TEST(Config, RefusesWindowsWhereALayerHasOne) {
  const auto error = [](json keys) {
    json config = SmallConfig();  // 2 layers
    config["max_position_embeddings"] = 8192;
    config.update(keys);
    return ErrorOf(config);
  };
  const std::string refused = "sliding-window attention, which is not supported";
  const json on = {{"use_sliding_window", true}, {"max_window_layers", 1}};
  const auto with = [&](json keys) {
    json all = on;
    all.update(keys);
    return error(all);
  };
  EXPECT_NE(with({{"sliding_window", 512}}).find("layer 1 has " + refused), std::string::npos);
  EXPECT_NE(with(json::object()).find(refused), std::string::npos)
      << "the window is 4096 where none is given";
  EXPECT_EQ(with({{"sliding_window", nullptr}}), "");
  EXPECT_EQ(with({{"sliding_window", 8192}}), "");
  EXPECT_NE(
      with({{"sliding_window", 8192}, {"rope_scaling", {{"type", "dynamic"}, {"factor", 2}}}}).find(refused),
      std::string::npos)
      << "its texts may be longer than max_position_embeddings";
  EXPECT_EQ(with({{"sliding_window", 512}, {"max_window_layers", 2}}), "") << "no layer is behind the second";
  EXPECT_EQ(error({{"use_sliding_window", true}, {"sliding_window", 512}}), "") << "28 layers without one";
  const json full = {"full_attention", "full_attention"}, sliding = {"full_attention", "sliding_attention"};
  EXPECT_EQ(with({{"sliding_window", 512}, {"layer_types", full}}), "") << "layers go before their number";
  EXPECT_NE(with({{"sliding_window", 512}, {"layer_types", sliding}}).find(refused), std::string::npos);
  EXPECT_NE(error({{"layer_types", sliding}}).find(refused), std::string::npos);
}

class WeightsOfSmallModel : public testing::Test {
 protected:
  WeightsOfSmallModel() {
    for (const auto& tensor : ExpectedTensors(config_)) {
      const uint64_t bytes = TensorBytes(Dtype::kBFloat16, tensor.shape);
      tensors_[tensor.name] = {Dtype::kBFloat16, tensor.shape, std::string_view(zeros_).substr(0, bytes)};
    }
  }
  ModelConfig config_ = ParseModelConfig(SmallConfig().dump());
  std::string zeros_ = std::string(100'000, '\0');
  TensorMap tensors_;
};

TEST_F(WeightsOfSmallModel, ProblemsAreNamed) {
  EXPECT_TRUE(WeightProblems(config_, tensors_).empty());
  CheckFinite(tensors_, "x");
  tensors_["model.layers.0.self_attn.rotary_emb.inv_freq"] = tensors_["model.norm.weight"];
  EXPECT_TRUE(WeightProblems(config_, tensors_).empty());
  tensors_.erase("model.layers.1.mlp.up_proj.weight");
  tensors_["model.norm.weight"].shape = {31};
  tensors_["model.layers.0.self_attn.q_proj.bias"] = tensors_["model.norm.weight"];
  tensors_["lm_head.weight"].dtype = Dtype::kInt8;
  EXPECT_EQ(WeightProblems(config_, tensors_),
            (std::vector<std::string>{"model.layers.1.mlp.up_proj.weight is missing",
                                      "model.norm.weight has shape [31], [32] is expected",
                                      "lm_head.weight is int8; float32, bfloat16 and float16 are supported",
                                      "model.layers.0.self_attn.q_proj.bias is unexpected"}));
  EXPECT_THROW(CheckWeights(config_, tensors_, "folder"), UserError);
}

TEST_F(WeightsOfSmallModel, NanIsFoundWhereItIs) {
  std::string bytes(96 * 32 * 2, '\0');
  tensors_["lm_head.weight"].bytes = bytes;
  for (const size_t element : {0u, 1u, 2048u, 3071u}) {
    std::string damaged = bytes;
    damaged[2 * element] = '\xc1';
    damaged[2 * element + 1] = '\x7f';  // a quiet NaN
    tensors_["lm_head.weight"].bytes = damaged;
    EXPECT_EQ(FirstNonFinite(tensors_["lm_head.weight"]), element);
    try {
      CheckFinite(tensors_, "folder");
      FAIL();
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(fmt::format("element {} of lm_head.weight", element)),
                std::string::npos);
    }
  }
  const float values[] = {1.5f, -3e38f, 1e-40f, -HUGE_VALF};
  EXPECT_EQ(FirstNonFinite({Dtype::kFloat32, {4}, {reinterpret_cast<const char*>(values), 16}}), 3u);
  EXPECT_EQ(FirstNonFinite({Dtype::kFloat32, {3}, {reinterpret_cast<const char*>(values), 12}}),
            std::nullopt);
}

}  // namespace
}  // namespace tritogen
