// Runners of several ranks against the one that has the whole model, and against plain logits; the tile
// machine runs the kernels. Ranks as processes: tests/engine/test_tensor_parallel.py.
#include "runner/tensor_parallel.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ranks/ranks_test_util.h"

namespace tritogen {
namespace {

constexpr int kSteps = 3;

ModelConfig Qwen3() {
  ModelConfig c;
  c.vocabulary = 256, c.hidden = 48, c.intermediate = 128, c.layers = 2;
  c.heads = 8, c.kv_heads = 4, c.head_dim = 32, c.max_positions = 256;
  c.qk_norm = true, c.tied_embeddings = false;
  return c;
}

ModelConfig Qwen2() {
  ModelConfig c = Qwen3();
  c.family = ModelFamily::kQwen2;
  c.qk_norm = false, c.qkv_bias = true, c.tied_embeddings = true;
  c.vocabulary = 203, c.heads = 4, c.kv_heads = 2;
  return c;
}

ModelConfig Llama() {
  ModelConfig c = Qwen3();
  c.family = ModelFamily::kLlama;
  c.qk_norm = false, c.qkv_bias = c.output_bias = c.mlp_bias = true;
  c.intermediate = 132;                // rows of 66 or 33
  c.vocabulary = 200, c.kv_heads = 1;  // the one key head is everybody's; the output is whole on all ranks
  return c;
}

// Layers do something, biases too.
DecoderWeights RandomWeights(const ModelConfig& config, at::ScalarType type = at::kFloat, uint64_t seed = 7) {
  DecoderWeights weights = MakeWeights(config, type, at::kCPU);
  FillWeights(seed, &weights);
  at::Generator random = at::detail::createCPUGenerator(seed);
  for (auto& [name, tensor] : weights.Named()) {
    if (tensor.dim() == 2) tensor.mul_(8);
    if (name.ends_with("bias")) tensor.normal_(0, 0.5, random);
  }
  return weights;
}

void CopyFrom(const DecoderWeights& whole, const ModelPart& part, DecoderWeights* weights) {
  const auto named = whole.Named();
  CopyPart(
      whole.config, part, [&](const std::string& name) { return named.at(name); }, weights);
}

GpuRunnerOptions Options() {
  GpuRunnerOptions options;
  options.slots = 4, options.prefill_tokens = 160, options.context = 192;
  options.cache_bytes = int64_t{16} << 20;
  return options;
}

// Prompts of several lengths, cut in pieces; then each draws in another way.
struct Sequences {
  explicit Sequences(int64_t vocabulary) {
    for (const int64_t length : {3, 70, 129}) {
      std::vector<TokenId>& text = texts.emplace_back();
      for (int64_t i = 0; i < length; ++i)
        text.push_back(static_cast<TokenId>((i * 37 + length * 11) % vocabulary));
    }
    sampling[0].temperature = 0, sampling[0].top_logprobs = 3;
    sampling[1].seed = 5;
    sampling[2].seed = 6, sampling[2].temperature = 0.8f, sampling[2].top_k = 20,
    sampling[2].repetition_penalty = 1.2f;
  }
  std::vector<std::vector<TokenId>> texts;
  std::vector<std::vector<int32_t>> blocks = {{0}, {5, 2}, {1, 3, 4}};
  SamplingOptions sampling[3];
};

// What each step sampled.
std::vector<std::vector<Sample>> Generate(Runner* runner) {
  const Sequences s(runner->limits().vocabulary);
  constexpr int32_t kPiece = 50;
  for (int32_t start = 0; start < 128; start += kPiece) {
    Batch batch;
    for (size_t i = 0; i < s.texts.size(); ++i) {
      const auto count = std::min<int32_t>(kPiece, static_cast<int32_t>(s.texts[i].size()) - 1 - start);
      if (count > 0)
        batch.prefill.push_back(
            {start, {s.texts[i].data() + start, static_cast<size_t>(count)}, s.blocks[i]});
    }
    runner->Submit(batch);
    runner->Wait();
  }
  std::vector<std::vector<Sample>> steps;
  for (int step = 0; step < kSteps; ++step) {
    Batch batch;
    for (int32_t i = 0; i < 3; ++i) {
      if (step == 0) batch.starts.push_back({i, s.sampling[i], s.texts[i]});
      const auto last = static_cast<int32_t>(s.texts[i].size()) - 1;
      batch.decode.push_back(
          {i, last + step, step == 0 ? s.texts[i].back() : DecodeRow::kLast, step, s.blocks[i]});
    }
    runner->Submit(batch);
    steps.push_back(runner->Wait());
  }
  return steps;
}

// The model's own log-probabilities of what was drawn, by the plain way.
std::vector<std::vector<float>> PlainLogprobs(const DecoderWeights& whole,
                                              const std::vector<std::vector<Sample>>& steps) {
  std::vector<std::vector<float>> logprobs(steps.size());
  std::vector<std::vector<TokenId>> texts = Sequences(whole.config.vocabulary).texts;
  for (size_t step = 0; step < steps.size(); ++step) {
    for (size_t i = 0; i < texts.size(); ++i) {
      const at::Tensor tokens =
          at::tensor(std::vector<int64_t>(texts[i].begin(), texts[i].end())).unsqueeze(0);
      const at::Tensor last = at::log_softmax(PlainLogits(whole, tokens).to(at::kFloat), -1).squeeze(0)[-1];
      const TokenId drawn = steps[step][i].chosen.token;
      logprobs[step].push_back(last[drawn].item<float>());
      texts[i].push_back(drawn);
    }
  }
  return logprobs;
}

// Tokens and probabilities of all ranks, which are the same bits.
std::vector<std::vector<Sample>> OfRanks(const DecoderWeights& whole, int size,
                                         const GpuRunnerOptions& options) {
  std::vector<std::vector<std::vector<Sample>>> all(size);
  OnRanks(size, [&](const std::shared_ptr<Ranks>& ranks) {
    const ModelPart part{ranks->rank(), size};
    const auto weights = std::make_shared<DecoderWeights>(
        MakePart(whole.config, part, whole.embedding.scalar_type(), at::kCPU));
    CopyFrom(whole, part, weights.get());
    all[ranks->rank()] = Generate(MakeGpuRunner(weights, options, ranks).get());
  });
  for (int rank = 1; rank < size; ++rank) {
    for (int step = 0; step < kSteps; ++step) {
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(all[rank][step][i].chosen.token, all[0][step][i].chosen.token);
        EXPECT_EQ(all[rank][step][i].chosen.logprob, all[0][step][i].chosen.logprob);
      }
    }
  }
  return all[0];
}

void Compare(const DecoderWeights& whole, std::vector<int> sizes, GpuRunnerOptions options = Options()) {
  const auto single = Generate(MakeGpuRunner(std::make_shared<const DecoderWeights>(whole), options).get());
  const auto plain = PlainLogprobs(whole, single);
  for (const int size : sizes) {
    const auto steps = OfRanks(whole, size, options);
    for (int step = 0; step < kSteps; ++step) {
      for (int i = 0; i < 3; ++i) {
        const Sample &got = steps[step][i], &expected = single[step][i];
        EXPECT_EQ(got.chosen.token, expected.chosen.token) << size << " ranks, step " << step << ", " << i;
        EXPECT_NEAR(got.chosen.logprob, expected.chosen.logprob, 1e-4) << size << " ranks";
        EXPECT_NEAR(got.chosen.logprob, plain[step][i], 2e-4) << size << " ranks";
        ASSERT_EQ(got.top.size(), expected.top.size());
        for (size_t k = 0; k < got.top.size(); ++k)
          EXPECT_NEAR(got.top[k].logprob, expected.top[k].logprob, 1e-4);
      }
    }
  }
}

TEST(TensorParallel, Qwen3UntiedWithNormsOfHeads) {
  Compare(RandomWeights(Qwen3()), {2, 4});
}

TEST(TensorParallel, Qwen2TiedWithBiasesAndFewerKeyHeadsThanRanks) {
  Compare(RandomWeights(Qwen2()), {2, 4});
}

TEST(TensorParallel, LlamaWithBiasesOfSumsAndOneKeyHead) {
  Compare(RandomWeights(Llama()), {2, 4});
}

TEST(TensorParallel, TwoRanksBatchInvariant) {
  GpuRunnerOptions options = Options();
  options.batch_invariant = true;
  Compare(RandomWeights(Qwen3()), {2}, options);
}

TEST(TensorParallel, HalfPrecisions) {
  for (const auto& [type, bound] : {std::pair(at::kBFloat16, 0.2), std::pair(at::kHalf, 0.04)}) {
    const DecoderWeights whole = RandomWeights(Qwen3(), type);
    const auto steps = OfRanks(whole, 2, Options());
    const auto plain = PlainLogprobs(whole, steps);
    for (int step = 0; step < kSteps; ++step) {
      for (int i = 0; i < 3; ++i) EXPECT_NEAR(steps[step][i].chosen.logprob, plain[step][i], bound);
    }
  }
}

// As after a step of training: the tensors stay, the numbers are others.
TEST(TensorParallel, NewWeightsAreTakenByAllRanks) {
  const DecoderWeights before = RandomWeights(Llama()), after = RandomWeights(Llama(), at::kFloat, 8);
  const auto expected =
      Generate(MakeGpuRunner(std::make_shared<const DecoderWeights>(after), Options()).get());
  OnRanks(2, [&](const std::shared_ptr<Ranks>& ranks) {
    const ModelPart part{ranks->rank(), 2};
    const auto weights =
        std::make_shared<DecoderWeights>(MakePart(before.config, part, at::kFloat, at::kCPU));
    CopyFrom(before, part, weights.get());
    const auto runner = MakeGpuRunner(weights, Options(), ranks);
    const auto first = Generate(runner.get());
    CopyFrom(after, part, weights.get());
    runner->WeightsChanged();
    const auto second = Generate(runner.get());
    bool differ = false;
    for (int step = 0; step < kSteps; ++step) {
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(second[step][i].chosen.token, expected[step][i].chosen.token);
        EXPECT_NEAR(second[step][i].chosen.logprob, expected[step][i].chosen.logprob, 1e-4);
        differ = differ || std::abs(first[step][i].chosen.logprob - second[step][i].chosen.logprob) > 1e-3;
      }
    }
    EXPECT_TRUE(differ);
  });
}

// The cache is as large as the rank with the least memory allows.
TEST(TensorParallel, AllRanksHaveTheBlocksOfThePoorest) {
  const DecoderWeights whole = RandomWeights(Qwen3());
  std::vector<int32_t> blocks(2);
  OnRanks(2, [&](const std::shared_ptr<Ranks>& ranks) {
    const ModelPart part{ranks->rank(), 2};
    const auto weights = std::make_shared<DecoderWeights>(MakePart(whole.config, part, at::kFloat, at::kCPU));
    CopyFrom(whole, part, weights.get());
    GpuRunnerOptions options = Options();
    options.cache_bytes = int64_t{ranks->rank() == 0 ? 1 << 30 : 1 << 19};
    blocks[ranks->rank()] = MakeGpuRunner(weights, options, ranks)->limits().blocks;
  });
  EXPECT_EQ(blocks[0], blocks[1]);
  EXPECT_LT(blocks[0], 12);
}

TEST(TensorParallel, MoreThanTwoRanksAreNotBatchInvariant) {
  TensorParallelOptions options{.ranks = {.size = 4}, .cuda = false};
  options.runner.batch_invariant = true;
  EXPECT_THROW(MakeTensorParallelRunner(options), UserError);
}

}  // namespace
}  // namespace tritogen
