// The GPU runner's own kernels, run by the tile machine, against plain logits.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "base/error.h"
#include "engine/collector.h"
#include "engine/engine.h"
#include "runner/gpu_runner.h"

namespace tritogen {
namespace {

ModelConfig SmallConfig() {
  ModelConfig c;
  c.vocabulary = 203, c.hidden = 48, c.intermediate = 64, c.layers = 2;
  c.heads = 6, c.kv_heads = 2, c.head_dim = 32, c.max_positions = 256;
  c.qkv_bias = false, c.qk_norm = true, c.tied_embeddings = true;
  return c;
}

std::shared_ptr<DecoderWeights> SmallWeights(const ModelConfig& config, at::ScalarType type = at::kFloat) {
  auto weights = std::make_shared<DecoderWeights>(MakeWeights(config, type, at::kCPU));
  FillWeights(7, weights.get());
  for (auto& [name, tensor] : weights->Named()) {
    if (tensor.dim() == 2) tensor.mul_(8);  // so that layers do something
  }
  return weights;
}

std::vector<TokenId> Text(int64_t length, int64_t vocabulary, int64_t salt) {
  std::vector<TokenId> tokens;
  for (int64_t i = 0; i < length; ++i)
    tokens.push_back(static_cast<TokenId>((i * 37 + salt * 11 + 5) % vocabulary));
  return tokens;
}

// Log-probabilities of every next token of a text, by the plain way.
at::Tensor PlainLogprobs(const DecoderWeights& weights, const std::vector<TokenId>& text, int64_t prompt) {
  const at::Tensor tokens = at::tensor(std::vector<int64_t>(text.begin(), text.end())).unsqueeze(0);
  return at::log_softmax(PlainLogits(weights, tokens, prompt).to(at::kFloat), -1).squeeze(0);
}

struct Running {
  std::vector<TokenId> text;
  std::vector<int32_t> blocks;
};

// Prefills in pieces of `piece`, then decodes greedily, checking each logprob. All texts begin with the same
// `common` tokens, whose full blocks they share.
void Generate(const std::shared_ptr<DecoderWeights>& weights, GpuRunnerOptions options, double bound,
              std::vector<int64_t> lengths, int32_t piece, int steps, int64_t common = 0) {
  options.cache_bytes = int64_t{64} << 20;
  const auto runner = MakeGpuRunner(weights, options);
  std::vector<Running> all;
  int32_t next_block = runner->limits().blocks - 1;
  const int32_t beyond = runner->limits().stretch_beyond;
  for (size_t i = 0; i < lengths.size(); ++i) {
    Running& one = all.emplace_back();
    one.text = Text(lengths[i], weights->config.vocabulary, static_cast<int64_t>(i));
    std::copy_n(all[0].text.begin(), common, one.text.begin());
    for (int64_t b = 0; b < (lengths[i] + steps) / 64 + 1; ++b) {
      one.blocks.push_back(i > 0 && b < common / 64 ? all[0].blocks[b] : next_block--);
    }
  }
  for (int32_t start = 0; start < *std::max_element(lengths.begin(), lengths.end()); start += piece) {
    Batch batch;
    for (const Running& one : all) {
      const auto end = static_cast<int32_t>(one.text.size()) - 1;
      if (start >= end) continue;
      const int32_t count = std::min(piece, end - start);
      const int32_t stretch = beyond > 0 && end + 1 > beyond ? end + 1 : 0;
      batch.prefill.push_back(
          {start, {one.text.data() + start, static_cast<size_t>(count)}, one.blocks, stretch});
    }
    runner->Submit(batch);
    EXPECT_TRUE(runner->Wait().empty());
  }
  for (int step = 0; step < steps; ++step) {
    Batch batch;
    for (size_t i = 0; i < all.size(); ++i) {
      const auto slot = static_cast<int32_t>(i);
      SamplingOptions greedy;
      greedy.temperature = 0, greedy.top_logprobs = 3;
      if (step == 0) batch.starts.push_back({slot, greedy, {}});
      batch.decode.push_back({slot, static_cast<int32_t>(all[i].text.size()) - 1,
                              step == 0 ? all[i].text.back() : DecodeRow::kLast, step, all[i].blocks});
    }
    runner->Submit(batch);
    const std::vector<Sample> samples = runner->Wait();
    ASSERT_EQ(samples.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      const at::Tensor expected = PlainLogprobs(*weights, all[i].text, lengths[i])[-1];
      const auto [values, places] = at::topk(expected, 3);
      EXPECT_NEAR(samples[i].chosen.logprob, expected[samples[i].chosen.token].item<float>(), bound);
      EXPECT_NEAR(samples[i].chosen.logprob, values[0].item<float>(), bound);
      ASSERT_EQ(samples[i].top.size(), 3u);
      for (int k = 0; k < 3; ++k) EXPECT_NEAR(samples[i].top[k].logprob, values[k].item<float>(), bound);
      all[i].text.push_back(samples[i].chosen.token);
    }
  }
}

GpuRunnerOptions SmallOptions() {
  GpuRunnerOptions options;
  options.slots = 5, options.prefill_tokens = 400, options.context = 256;
  return options;
}

TEST(GpuRunner, ChunkedPrefillAndDecodeAreThePlainForwardPass) {
  Generate(SmallWeights(SmallConfig()), SmallOptions(), 2e-4, {1, 63, 64, 130}, 70, 3);
}

TEST(GpuRunner, SplitsAreJoined) {
  GpuRunnerOptions options = SmallOptions();
  options.batch_invariant = true;
  ModelConfig config = SmallConfig();
  config.max_positions = 1024;
  options.context = 1024, options.prefill_tokens = 700;
  Generate(SmallWeights(config), options, 2e-4, {600, 40}, 600, 2);
}

TEST(GpuRunner, BiasesManyHeadsUntied) {
  ModelConfig config = SmallConfig();
  config.family = ModelFamily::kQwen2;
  config.qk_norm = false, config.qkv_bias = true, config.tied_embeddings = false;
  config.heads = 18, config.kv_heads = 1;
  const auto weights = SmallWeights(config);
  for (LayerWeights& layer : weights->layers)
    layer.qkv_bias.normal_(0, 0.5, at::detail::createCPUGenerator(1));
  Generate(weights, SmallOptions(), 2e-4, {5, 70}, 100, 2);
}

TEST(GpuRunner, HalfPrecisions) {
  Generate(SmallWeights(SmallConfig(), at::kBFloat16), SmallOptions(), 0.15, {20, 70}, 100, 2);
  Generate(SmallWeights(SmallConfig(), at::kHalf), SmallOptions(), 0.03, {20, 70}, 100, 2);
}

// Heads that fill no tile are padded.
TEST(GpuRunner, HeadsOfAnyMultipleOfSixteen) {
  for (const int64_t head_dim : {16, 48, 80, 96, 112, 144}) {
    ModelConfig config = SmallConfig();
    config.head_dim = head_dim;
    config.qk_norm = head_dim % 32 != 0;
    SCOPED_TRACE(head_dim);
    Generate(SmallWeights(config), SmallOptions(), 2e-4, {5, 70}, 50, 2);
  }
  ModelConfig config = SmallConfig();
  config.head_dim = 80;
  GpuRunnerOptions options = SmallOptions();
  options.batch_invariant = true;
  Generate(SmallWeights(config), options, 2e-4, {5, 130}, 50, 2);
  Generate(SmallWeights(config, at::kBFloat16), SmallOptions(), 0.15, {20, 70}, 100, 2);
  config.head_dim = 96, config.hidden = 128, config.heads = 4, config.intermediate = 128;
  options = SmallOptions();
  options.fused_rows = 2;
  Generate(SmallWeights(config, at::kHalf), options, 0.03, {20, 70, 3}, 100, 2);
}

// Five rows of 5 shared blocks, the last of which two rows have just filled, in two items where there is one
// key head; behind them none to 70 positions of their own.
TEST(GpuRunner, SharedPrefixes) {
  ModelConfig config = SmallConfig();
  config.max_positions = 512;
  GpuRunnerOptions options = SmallOptions();
  options.context = 512, options.prefill_tokens = 2000;
  options.share_prefixes = SharePrefixes::kAlways;
  const std::vector<int64_t> lengths = {321, 390, 384, 321, 333};
  Generate(SmallWeights(config), options, 2e-4, lengths, 400, 3, 320);
  config.kv_heads = 1;
  Generate(SmallWeights(config, at::kBFloat16), options, 0.15, lengths, 400, 3, 320);
  config.head_dim = 48, config.qk_norm = false;  // a padded tile
  config.heads = 18;                             // and rows of two tiles
  Generate(SmallWeights(config), options, 2e-4, lengths, 400, 2, 320);
  config.hidden = 128, config.heads = 4, config.head_dim = 32, config.intermediate = 128;
  options.fused_rows = 2;
  Generate(SmallWeights(config, at::kHalf), options, 0.03, lengths, 400, 2, 320);
}

// Groups of samples that end at different times, more of them than slots, and a cache that is too small for
// all: the tokens of an engine whose rows share nothing.
TEST(GpuRunner, GroupsDrawTheSameTokensWhereTheyShareAndWhereTheyDoNot) {
  ModelConfig config = SmallConfig();
  config.max_positions = 512;
  const auto weights = SmallWeights(config);
  const auto run = [&](SharePrefixes share, bool roomy) {
    GpuRunnerOptions options = SmallOptions();
    options.slots = 7, options.context = 512, options.share_prefixes = share;
    options.cache_bytes = roomy ? int64_t{64} << 20 : 12 * 65536;  // eleven blocks
    Engine engine(MakeGpuRunner(weights, options), nullptr, {});
    std::deque<Collector> groups;
    for (const int32_t length : {200, 150, 300}) {
      Request request{
          .prompt = Text(length, config.vocabulary, length), .options = {.max_tokens = 90}, .n = 4};
      for (TokenId token = 0; token < 4; ++token) request.options.stop_tokens.push_back(token);
      request.options.sampling.seed = static_cast<uint64_t>(length);
      groups.emplace_back(request.n);
      engine.Submit(request, groups.back().callback());
    }
    std::vector<std::vector<TokenId>> tokens;
    for (Collector& group : groups) {
      for (const Collector::Sequence& sequence : group.Wait()) tokens.push_back(sequence.tokens());
    }
    EXPECT_EQ(engine.Stats().preemptions > 0, !roomy);
    return tokens;
  };
  const auto alone = run(SharePrefixes::kNever, true);
  std::set<size_t> lengths;
  for (const std::vector<TokenId>& tokens : alone) lengths.insert(tokens.size());
  EXPECT_GT(lengths.size(), 4u);
  EXPECT_EQ(run(SharePrefixes::kAlways, true), alone);
  EXPECT_EQ(run(SharePrefixes::kAlways, false), alone);
}

// Prompts below, at and beyond the model's positions, in one batch; answers that go beyond them.
TEST(GpuRunner, DynamicRope) {
  ModelConfig config = SmallConfig();
  config.max_positions = 64;
  config.rope.kind = RopeKind::kDynamic;
  config.rope.factor = 2.5;
  Generate(SmallWeights(config), SmallOptions(), 2e-4, {20, 63, 64, 65, 130}, 37, 4);
  config.rope.kind = RopeKind::kDefault;
  EXPECT_THROW(MakeGpuRunner(SmallWeights(config), SmallOptions()), UserError);
}

// Rows, heads and matrices that no vector of 16 bytes divides, and heads that no tile holds.
TEST(GpuRunner, SizesOfAnyKind) {
  ModelConfig config = SmallConfig();
  GpuRunnerOptions invariant = SmallOptions();
  invariant.batch_invariant = true;
  for (const int64_t head_dim : {6, 72, 100, 130}) {
    SCOPED_TRACE(head_dim);
    config.head_dim = head_dim, config.hidden = head_dim + 31, config.intermediate = 2 * head_dim + 1;
    config.qk_norm = head_dim != 72;
    config.heads = head_dim == 6 ? 34 : 6;  // a group of 17
    Generate(SmallWeights(config), head_dim == 100 ? invariant : SmallOptions(), 2e-4, {5, 70}, 50, 2);
  }
  Generate(SmallWeights(config, at::kBFloat16), invariant, 0.15, {20, 70}, 100, 2);
  config.head_dim = 100;
  config.hidden = 2500;  // two pieces of a row
  Generate(SmallWeights(config, at::kHalf), SmallOptions(), 0.05, {20, 70}, 100, 2);
  config.head_dim = 258;
  EXPECT_THROW(MakeGpuRunner(SmallWeights(config), SmallOptions()), UserError);
}

// Fused products beside heads of such a size.
TEST(GpuRunner, FusedProductsWithHeadsOfAnySize) {
  ModelConfig config = SmallConfig();
  config.head_dim = 8, config.heads = 16, config.kv_heads = 4, config.hidden = 128, config.intermediate = 128;
  GpuRunnerOptions options = SmallOptions();
  options.fused_rows = 2;
  Generate(SmallWeights(config, at::kHalf), options, 0.03, {20, 70, 3}, 100, 2);
}

// Products that take norms and sums along, against the plain forward pass.
TEST(GpuRunner, FusedProducts) {
  ModelConfig config = SmallConfig();
  config.hidden = 128, config.heads = 4, config.intermediate = 128;
  GpuRunnerOptions options = SmallOptions();
  options.fused_rows = 2;
  Generate(SmallWeights(config, at::kHalf), options, 0.03, {20, 70, 3}, 100, 2);
  config.family = ModelFamily::kQwen2;
  config.qk_norm = false, config.qkv_bias = true, config.tied_embeddings = false, config.intermediate = 256;
  const auto weights = SmallWeights(config, at::kHalf);
  for (LayerWeights& layer : weights->layers)
    layer.qkv_bias.normal_(0, 0.5, at::detail::createCPUGenerator(1));
  Generate(weights, options, 0.03, {20, 70, 3}, 100, 2);
}

// The same tokens and the same bits, whoever shares the batch.
TEST(GpuRunner, BatchInvariance) {
  const auto weights = SmallWeights(SmallConfig(), at::kBFloat16);
  GpuRunnerOptions options = SmallOptions();
  options.batch_invariant = true;
  options.cache_bytes = int64_t{64} << 20;
  const std::vector<std::vector<TokenId>> texts = {Text(30, 203, 1), Text(90, 203, 2), Text(7, 203, 3)};
  const auto run = [&](std::vector<size_t> members, int32_t piece) {
    const auto runner = MakeGpuRunner(weights, options);
    std::vector<std::vector<int32_t>> blocks;
    for (size_t i = 0; i < members.size(); ++i) {
      blocks.push_back({static_cast<int32_t>(2 * i), static_cast<int32_t>(2 * i + 1)});
    }
    for (int32_t start = 0; start < 90; start += piece) {
      Batch batch;
      for (size_t i = 0; i < members.size(); ++i) {
        const std::vector<TokenId>& text = texts[members[i]];
        const int32_t count = std::min<int32_t>(piece, static_cast<int32_t>(text.size()) - 1 - start);
        if (count > 0)
          batch.prefill.push_back({start, {text.data() + start, static_cast<size_t>(count)}, blocks[i]});
      }
      runner->Submit(batch);
      runner->Wait();
    }
    std::map<size_t, std::vector<float>> logprobs;
    for (int step = 0; step < 4; ++step) {
      Batch batch;
      for (size_t i = 0; i < members.size(); ++i) {
        const auto slot = static_cast<int32_t>(i);
        SamplingOptions sampling;
        sampling.seed = members[i] + 5;
        const std::vector<TokenId>& text = texts[members[i]];
        if (step == 0) batch.starts.push_back({slot, sampling, {}});
        batch.decode.push_back({slot, static_cast<int32_t>(text.size()) - 1 + step,
                                step == 0 ? text.back() : DecodeRow::kLast, step, blocks[i]});
      }
      runner->Submit(batch);
      const std::vector<Sample> samples = runner->Wait();
      for (size_t i = 0; i < members.size(); ++i) {
        logprobs[members[i]].push_back(samples[i].chosen.logprob);
        logprobs[members[i]].push_back(static_cast<float>(samples[i].chosen.token));
      }
    }
    return logprobs;
  };
  // As a sequence that was preempted comes back: what it had drawn goes in again, several rows in one step.
  const auto again = [&](const std::vector<float>& drawn) {
    const auto runner = MakeGpuRunner(weights, options);
    const std::vector<TokenId>& text = texts[1];
    const std::vector<int32_t> blocks = {3, 1};
    const auto last = static_cast<int32_t>(text.size()) - 1;
    SamplingOptions sampling;
    sampling.seed = 6;
    Batch batch;
    batch.prefill.push_back({0, {text.data(), text.size() - 1}, blocks});
    batch.starts.push_back({2, sampling, {}});
    batch.decode.push_back({2, last, text.back(), -1, blocks});
    for (int i = 0; i < 3; ++i) {
      batch.decode.push_back(
          {2, last + 1 + i, static_cast<TokenId>(drawn[2 * i + 1]), i == 2 ? 3 : -1, blocks});
    }
    runner->Submit(batch);
    return runner->Wait().at(0);
  };
  const auto together = run({2, 0, 1}, 40);
  EXPECT_EQ(again(together.at(1)).chosen.logprob, together.at(1)[6]);
  EXPECT_EQ(static_cast<float>(again(together.at(1)).chosen.token), together.at(1)[7]);
  EXPECT_EQ(together.at(1), run({1}, 90).at(1));
  EXPECT_EQ(together.at(0), run({0, 1}, 13).at(0));
}

}  // namespace
}  // namespace tritogen
