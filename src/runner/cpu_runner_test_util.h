// Small random models, and texts that a runner takes step by step.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/splitmix.h"
#include "runner/cpu_runner.h"

namespace tritogen {

inline constexpr int64_t kVocabulary = 19;  // so small that the reported logprobs are all of them
inline constexpr int32_t kBlock = 16;
using Tokens = std::vector<TokenId>;

inline ModelConfig Config(ModelFamily family, int64_t heads, int64_t kv_heads, int64_t head_dim) {
  ModelConfig config;
  config.family = family;
  config.vocabulary = kVocabulary;
  config.hidden = 64;
  config.intermediate = 96;
  config.layers = 3;
  config.heads = heads;
  config.kv_heads = kv_heads;
  config.head_dim = head_dim;
  config.max_positions = 256;
  config.qk_norm = family == ModelFamily::kQwen3;
  config.qkv_bias = family == ModelFamily::kQwen2;
  return config;
}

struct NamedConfig {
  std::string name;
  ModelConfig config;
};

inline std::vector<NamedConfig> Configs() {
  std::vector<NamedConfig> all = {{"qwen3", Config(ModelFamily::kQwen3, 4, 2, 32)},
                                  {"qwen2", Config(ModelFamily::kQwen2, 7, 1, 16)},
                                  {"llama", Config(ModelFamily::kLlama, 4, 4, 16)},
                                  {"llama_biased_tied", Config(ModelFamily::kLlama, 6, 2, 10)},
                                  {"llama3", Config(ModelFamily::kLlama, 4, 1, 16)},
                                  {"qwen3_yarn_odd", Config(ModelFamily::kQwen3, 3, 3, 6)}};
  ModelConfig& biased = all[3].config;
  biased.qkv_bias = biased.output_bias = biased.mlp_bias = biased.tied_embeddings = true;
  RopeConfig& llama3 = all[4].config.rope;
  llama3.kind = RopeKind::kLlama3;
  llama3.factor = 8;
  llama3.original_positions = 32;
  RopeConfig& yarn = all[5].config.rope;
  yarn.kind = RopeKind::kYarn;
  yarn.factor = 4;
  yarn.original_positions = 64;
  all[5].config.hidden = 45;
  all[5].config.intermediate = 33;
  return all;
}

// Tests run beside each other.
inline const bool kOneThread = (at::set_num_threads(1), true);

// Far from what training starts with: attention is not uniform, and logits differ.
inline std::shared_ptr<DecoderWeights> RandomWeights(const ModelConfig& config, at::ScalarType dtype,
                                                     uint64_t seed = 1) {
  auto weights = std::make_shared<DecoderWeights>(MakeWeights(config, dtype, at::kCPU));
  FillWeights(seed, weights.get());
  uint64_t stream = 0;
  for (auto& [name, tensor] : weights->Named()) {
    SplitMix random(SplitMix::At(seed, ++stream));
    if (tensor.dim() == 2) {
      tensor.mul_(12);
    } else {
      for (int64_t i = 0; i < tensor.numel(); ++i) {
        tensor[i] += (static_cast<double>(random.Below(1001)) / 1000 - 0.5) / 2;
      }
    }
  }
  return weights;
}

inline Tokens RandomTokens(uint64_t seed, size_t count) {
  SplitMix random(seed);
  Tokens tokens(count);
  for (TokenId& token : tokens) token = static_cast<TokenId>(random.Below(kVocabulary));
  return tokens;
}

// [tokens, vocabulary]
inline at::Tensor LogitsOf(const DecoderWeights& weights, const Tokens& tokens) {
  const at::NoGradGuard no_gradients;
  const std::vector<int64_t> wide(tokens.begin(), tokens.end());
  return PlainLogits(weights, at::tensor(wide).unsqueeze(0))[0].to(at::kFloat);
}
inline at::Tensor LogprobsOf(const DecoderWeights& weights, const Tokens& tokens) {
  return at::log_softmax(LogitsOf(weights, tokens), -1);
}

using Row = std::vector<float>;  // logprobs by token

inline Row RowOf(const Sample& sample) {
  Row row(kVocabulary, NAN);
  for (const TokenLogprob& at : sample.top) row[static_cast<size_t>(at.token)] = at.logprob;
  return row;
}

// One text and where its keys and values lie.
struct Text {
  Tokens tokens;
  std::vector<int32_t> blocks;
  int32_t slot = 0;
};

class Driver {
 public:
  explicit Driver(std::shared_ptr<const DecoderWeights> weights, CpuRunnerOptions options = {}) {
    options.slots = 8;
    if (options.threads == 0) options.threads = 1;
    runner = MakeCpuRunner(std::move(weights), options);
  }

  Text MakeText(Tokens tokens, SamplingOptions sampling = Everything()) {
    Text text{std::move(tokens), {}, slots_++};
    for (int32_t i = 0; i < 256 / kBlock; ++i)
      text.blocks.push_back((next_block_ += 5) % runner->limits().blocks);
    step.starts.push_back({text.slot, sampling, text.tokens});
    return text;
  }
  static SamplingOptions Everything() {  // greedy, with all logprobs
    SamplingOptions options;
    options.temperature = 0;
    options.top_logprobs = kVocabulary;
    return options;
  }
  void Prefill(const Text& text, size_t from, size_t count, int32_t stretch = 0) {
    step.prefill.push_back(
        {static_cast<int32_t>(from), std::span(text.tokens).subspan(from, count), text.blocks, stretch});
  }
  void Decode(const Text& text, size_t position, int32_t draw, bool last = false) {
    step.decode.push_back({text.slot, static_cast<int32_t>(position),
                           last ? DecodeRow::kLast : text.tokens[position], draw, text.blocks});
  }
  std::vector<Sample> Go() {
    runner->Submit(step);
    step = {};
    return runner->Wait();
  }
  // Logprobs after each position from `from` on, one decode row a step.
  std::vector<Row> DecodeFrom(const Text& text, size_t from) {
    std::vector<Row> rows;
    for (size_t p = from; p < text.tokens.size(); ++p) {
      Decode(text, p, 0);
      rows.push_back(RowOf(Go().at(0)));
    }
    return rows;
  }
  std::vector<Row> Alone(const Tokens& tokens, size_t prompt) {
    const Text text = MakeText(tokens);
    if (prompt > 1) Prefill(text, 0, prompt - 1);
    return DecodeFrom(text, prompt - 1);
  }

  std::unique_ptr<Runner> runner;
  Batch step;

 private:
  int32_t slots_ = 0, next_block_ = 0;
};

inline double MostDifference(const at::Tensor& expected, size_t from, const std::vector<Row>& rows) {
  double most = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const at::Tensor row = expected[static_cast<int64_t>(from + i)].contiguous();
    for (size_t t = 0; t < kVocabulary; ++t) {
      const double difference = std::abs(double{rows[i][t]} - row.const_data_ptr<float>()[t]);
      most = std::isnan(difference) ? HUGE_VAL : std::max(most, difference);
    }
  }
  return most;
}

}  // namespace tritogen
