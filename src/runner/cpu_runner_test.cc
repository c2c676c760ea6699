// The runner against the plain forward pass of whole texts, and texts alone against texts in company.
#include <gtest/gtest.h>

#include "base/error.h"
#include "runner/cpu_model.h"
#include "runner/cpu_runner_test_util.h"
#include "runner/sampler.h"

namespace tritogen {
namespace {

std::vector<cpu::Level> Levels() {
  std::vector<cpu::Level> levels;
  for (const auto level : {cpu::Level::kGeneric, cpu::Level::kAvx2, cpu::Level::kAvx512,
                           cpu::Level::kAvx512Bf16, cpu::Level::kAmx}) {
    if (level <= cpu::BestLevel()) levels.push_back(level);
  }
  return levels;
}

TEST(CpuRunner, EqualsTheForwardPassOfWholeTexts) {
  for (const auto& [name, config] : Configs()) {
    const auto weights = RandomWeights(config, at::kFloat);
    const Tokens tokens = RandomTokens(2, 60);
    const at::Tensor expected = LogprobsOf(*weights, tokens);
    ASSERT_GT(expected.std().item<double>(), 0.3) << name;
    for (const cpu::Level level : Levels()) {
      CpuRunnerOptions options;
      options.level = level;
      Driver driver(weights, options);
      EXPECT_LT(MostDifference(expected, 39, driver.Alone(tokens, 40)), 1e-4) << name;
    }
  }
}

// The error of the plain forward pass in that dtype is the measure: both are compared with float32.
TEST(CpuRunner, NarrowWeightsAreAsGoodAsThePlainPass) {
  for (const auto& [name, config] : Configs()) {
    const Tokens tokens = RandomTokens(3, 60);
    for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
      const auto weights = RandomWeights(config, dtype);
      const auto wide = std::make_shared<DecoderWeights>(MakeWeights(config, at::kFloat, at::kCPU));
      auto to = wide->Named();
      for (const auto& [tensor, value] : weights->Named()) to.at(tensor).copy_(value);
      const at::Tensor exact = LogprobsOf(*wide, tokens);
      const double allowed = (LogprobsOf(*weights, tokens) - exact).abs().max().item<double>();
      for (const cpu::Level level : Levels()) {
        CpuRunnerOptions options;
        options.level = level;
        Driver driver(weights, options);
        EXPECT_LT(MostDifference(exact, 0, driver.Alone(tokens, 1)), 1.2 * allowed) << name << " " << dtype;
      }
    }
  }
}

TEST(CpuRunner, Int8WeightsAreThoseOfRoundedMatrices) {
  const ModelConfig config = Configs()[0].config;
  const auto weights = RandomWeights(config, at::kFloat);
  const auto rounded = std::make_shared<DecoderWeights>(MakeWeights(config, at::kFloat, at::kCPU));
  auto to = rounded->Named();
  for (const auto& [name, tensor] : weights->Named()) {
    at::Tensor value = tensor;
    if (tensor.dim() == 2 && name != "model.embed_tokens.weight") {
      const at::Tensor scale = tensor.abs().amax({1}, true) / 127;
      value = (tensor / scale).round() * scale;
    }
    to.at(name).copy_(value);
  }
  const Tokens tokens = RandomTokens(4, 50);
  const at::Tensor expected = LogprobsOf(*rounded, tokens);
  EXPECT_GT((expected - LogprobsOf(*weights, tokens)).abs().max().item<double>(), 1e-3);
  for (const cpu::Level level : Levels()) {
    CpuRunnerOptions options;
    options.int8_weights = true;
    options.level = level;
    Driver driver(weights, options);
    // AMX takes activations in bfloat16.
    EXPECT_LT(MostDifference(expected, 29, driver.Alone(tokens, 30)),
              level == cpu::Level::kAmx ? 0.15 : 1e-4);
  }
}

struct Kind {
  at::ScalarType dtype;
  bool int8;
};

TEST(CpuRunner, NumbersDoNotDependOnTheBatch) {
  for (const Kind kind :
       {Kind{at::kFloat, false}, {at::kBFloat16, false}, {at::kHalf, false}, {at::kBFloat16, true}}) {
    for (const size_t which : {0u, 5u}) {
      const auto weights = RandomWeights(Configs()[which].config, kind.dtype);
      for (const cpu::Level level : Levels()) {
        CpuRunnerOptions options;
        options.level = level;
        options.int8_weights = kind.int8;
        options.threads = 1;
        const Tokens tokens = RandomTokens(5, 90);
        const std::vector<Row> alone = Driver(weights, options).Alone(tokens, 70);

        Driver driver(weights, options);
        const Text text = driver.MakeText(tokens), other = driver.MakeText(RandomTokens(6, 200)),
                   third = driver.MakeText(RandomTokens(7, 200));
        // The prompt in uneven pieces, in steps in which others are prefilled and decoded.
        size_t at = 0, step = 0;
        for (const size_t piece : {1u, 20u, 33u, 15u}) {
          driver.Prefill(other, step * 40, 40);
          driver.Prefill(text, at, piece);
          if (step > 0) driver.Decode(other, step * 40 - 1, -1);
          driver.Go();
          at += piece;
          ++step;
        }
        ASSERT_EQ(at, 69u);
        std::vector<Row> together;
        for (size_t p = 69; p < 90; ++p) {
          for (size_t q = 0; q < p % 19; ++q) driver.Decode(third, (p - 69) + q, -1);
          if (p % 2) driver.Prefill(other, 160 + (p - 69) % 30, 3);
          driver.Decode(text, p, 0);
          driver.Decode(third, 199, 0);
          together.push_back(RowOf(driver.Go().at(0)));
        }
        EXPECT_EQ(alone, together) << kind.dtype << " " << static_cast<int>(level) << " " << which;
      }
    }
  }
}

// So large that loops are shared.
TEST(CpuRunner, NumbersDoNotDependOnTheThreads) {
  ModelConfig config = Config(ModelFamily::kQwen3, 8, 2, 64);
  config.hidden = 512;
  config.intermediate = 768;
  for (const bool int8 : {false, true}) {
    const auto weights = RandomWeights(config, at::kBFloat16);
    std::vector<std::vector<Row>> rows;
    for (const int threads : {1, 2, 3}) {
      CpuRunnerOptions options;
      options.threads = threads;
      options.int8_weights = int8;
      rows.push_back(Driver(weights, options).Alone(RandomTokens(15, 203), 200));
    }
    EXPECT_EQ(rows[0], rows[1]);
    EXPECT_EQ(rows[0], rows[2]);
  }
}

TEST(CpuRunner, SeveralRowsOfOneSequenceInAStep) {
  const auto weights = RandomWeights(Configs()[0].config, at::kBFloat16);
  const Tokens tokens = RandomTokens(8, 80);
  Driver driver(weights);
  const auto alone = driver.Alone(tokens, 40);
  const Text text = driver.MakeText(tokens);
  driver.Prefill(text, 0, 39);
  for (size_t p = 39; p < 80; ++p) driver.Decode(text, p, p == 79 ? 0 : -1);
  EXPECT_EQ(RowOf(driver.Go().at(0)), alone.back());
  // More rows than go through the model at once.
  Driver large(weights);
  const Text longer = large.MakeText(RandomTokens(9, 250)), same = large.MakeText(longer.tokens);
  large.Prefill(longer, 0, 249);
  large.Prefill(same, 0, 200);
  for (size_t p = 200; p < 250; ++p) large.Decode(same, p, p == 249 ? 1 : -1);
  const auto both = large.Go();
  ASSERT_EQ(both.size(), 1u);
  EXPECT_NEAR(both[0].top[0].logprob, LogprobsOf(*weights, longer.tokens)[249].max().item<double>(), 0.1);
}

TEST(CpuRunner, GreedyTokensAreThoseOfThePlainPass) {
  for (const auto& [name, config] : Configs()) {
    const auto weights = RandomWeights(config, at::kFloat);
    Driver driver(weights);
    Text text = driver.MakeText(RandomTokens(10, 20));
    driver.Prefill(text, 0, 19);
    driver.Decode(text, 19, 0);
    for (int32_t i = 0; i < 15; ++i) {
      const TokenId token = driver.Go().at(0).chosen.token;
      EXPECT_EQ(token, LogprobsOf(*weights, text.tokens)[-1].argmax().item<int64_t>()) << name;
      text.tokens.push_back(token);
      driver.Decode(text, text.tokens.size() - 1, i + 1, /*last=*/true);
    }
  }
}

TEST(CpuRunner, ACopiedBlockGoesOnAlone) {
  const auto weights = RandomWeights(Configs()[1].config, at::kFloat);
  Driver driver(weights);
  const Tokens tokens = RandomTokens(11, 60);
  const auto alone = driver.Alone(tokens, 40);
  Text first = driver.MakeText(tokens), second = driver.MakeText(tokens);
  driver.Prefill(first, 0, 39);
  driver.Go();
  // Two whole blocks are shared, the third is copied; then the first text goes another way.
  driver.step.copies.push_back({first.blocks[2], second.blocks[2]});
  second.blocks[0] = first.blocks[0];
  second.blocks[1] = first.blocks[1];
  first.tokens[39] = (first.tokens[39] + 1) % kVocabulary;
  driver.Decode(first, 39, 0);
  driver.Go();
  EXPECT_EQ(driver.DecodeFrom(second, 39), alone);
}

TEST(CpuRunner, SamplesAreThoseOfTheSampler) {
  const auto weights = RandomWeights(Configs()[2].config, at::kFloat);
  for (const float penalty : {1.0f, 1.8f}) {
    SamplingOptions sampling;
    sampling.temperature = 0.8f;
    sampling.top_k = 9;
    sampling.top_p = 0.9f;
    sampling.min_p = 0.02f;
    sampling.repetition_penalty = penalty;
    sampling.top_logprobs = 3;
    std::vector<Tokens> texts;
    for (int32_t i = 0; i < 3; ++i) texts.push_back(RandomTokens(12 + static_cast<uint64_t>(i), 9));
    Driver driver(weights);
    std::vector<Text> running;
    for (const Tokens& tokens : texts) {
      sampling.seed = 100 + running.size();
      running.push_back(driver.MakeText(tokens, sampling));
      driver.Prefill(running.back(), 0, 8);
      driver.Decode(running.back(), 8, 0);
    }
    Sampler sampler;
    for (int32_t draw = 0; draw < 20; ++draw) {
      const auto samples = driver.Go();
      ASSERT_EQ(samples.size(), texts.size());
      for (size_t i = 0; i < texts.size(); ++i) {
        const at::Tensor row = LogitsOf(*weights, texts[i])[-1].contiguous();
        sampling.seed = 100 + i;
        const Sample expected =
            sampler.Choose({row.const_data_ptr<float>(), kVocabulary}, sampling, texts[i], draw);
        ASSERT_EQ(samples[i].chosen.token, expected.chosen.token) << i << " draw " << draw;
        EXPECT_NEAR(samples[i].chosen.logprob, expected.chosen.logprob, 1e-4);
        ASSERT_EQ(samples[i].top.size(), 3u);
        EXPECT_EQ(samples[i].top[0].token, expected.top[0].token);
        texts[i].push_back(samples[i].chosen.token);
        running[i].tokens = texts[i];
        driver.Decode(running[i], texts[i].size() - 1, draw + 1, /*last=*/true);
      }
    }
  }
}

// A prompt's angles go by its length, each further token's by the length up to it.
TEST(CpuRunner, DynamicRopeGoesBeyondTheModelsPositions) {
  ModelConfig config = Configs()[2].config;
  config.max_positions = 64;
  config.rope.kind = RopeKind::kDynamic;
  config.rope.factor = 2.5;
  const auto weights = RandomWeights(config, at::kFloat);
  CpuRunnerOptions options;
  options.context = 200;
  Driver driver(weights, options);
  EXPECT_EQ(driver.runner->limits().stretch_beyond, 64);
  for (const int prompt : {40, 64, 65, 100}) {
    const Text text = driver.MakeText(RandomTokens(20, 120));
    const int32_t stretch = prompt > 64 ? prompt : 0;
    driver.Prefill(text, 0, 30, stretch);
    driver.Go();
    driver.Prefill(text, 30, static_cast<size_t>(prompt) - 31, stretch);
    const auto rows = driver.DecodeFrom(text, static_cast<size_t>(prompt) - 1);
    const std::vector<int64_t> wide(text.tokens.begin(), text.tokens.end());
    const at::Tensor expected =
        at::log_softmax(PlainLogits(*weights, at::tensor(wide).unsqueeze(0), prompt)[0], -1);
    EXPECT_LT(MostDifference(expected, static_cast<size_t>(prompt) - 1, rows), 1e-4) << prompt;
    const at::Tensor in_one_pass = LogprobsOf(*weights, text.tokens);
    EXPECT_GT(MostDifference(in_one_pass, static_cast<size_t>(prompt) - 1, rows), 1e-2) << prompt;
  }
  config.rope.kind = RopeKind::kLinear;
  EXPECT_THROW(MakeCpuRunner(RandomWeights(config, at::kFloat), options), UserError);
}

TEST(CpuModel, ArrangesAsManyWeightsAsThereIsRoomFor) {
  const auto weights = RandomWeights(Configs()[0].config, at::kBFloat16);
  for (const cpu::Level level : Levels()) {
    const CpuModel none(weights, /*int8_weights=*/false, level, /*most_arranged=*/0),
        all(weights, false, level);
    const cpu::Matrix &in_place = none.layers()[0].down, &arranged = all.layers()[0].down;
    EXPECT_EQ(in_place.values, weights->layers[0].down.const_data_ptr());
    EXPECT_EQ(in_place.kernels->arrange, nullptr);
    EXPECT_EQ(arranged.kernels->arrange == nullptr, arranged.values == in_place.values);
    EXPECT_EQ(all.embedding().values, weights->embedding.const_data_ptr()) << "its rows are read";
  }
}

TEST(CpuRunner, ChangedWeightsAreReadAnew) {
  for (const bool int8 : {false, true}) {
    const ModelConfig config = Configs()[3].config;
    const auto weights = RandomWeights(config, at::kBFloat16, 1),
               others = RandomWeights(config, at::kBFloat16, 2);
    CpuRunnerOptions options;
    options.int8_weights = int8;
    Driver driver(weights, options), other(others, options);
    const Tokens tokens = RandomTokens(13, 30);
    const auto before = driver.Alone(tokens, 20);
    auto to = weights->Named();
    for (const auto& [name, tensor] : others->Named()) to.at(name).copy_(tensor);
    driver.runner->WeightsChanged();
    const auto after = driver.Alone(tokens, 20);
    EXPECT_NE(before, after);
    EXPECT_EQ(after, other.Alone(tokens, 20));
  }
}

TEST(CpuRunner, NanInWeightsIsSeenInTheSample) {
  const auto weights = RandomWeights(Configs()[0].config, at::kBFloat16);
  weights->layers[1].qkv[3][5] = NAN;
  Driver driver(weights);
  const Text text = driver.MakeText(RandomTokens(14, 5));
  driver.Prefill(text, 0, 4);
  driver.Decode(text, 4, 0);
  const Sample sample = driver.Go().at(0);
  EXPECT_EQ(sample.chosen.token, 0);
  EXPECT_TRUE(std::isnan(sample.chosen.logprob));
}

TEST(CpuRunner, TheCacheDecidesTheLimits) {
  const ModelConfig config = Configs()[0].config;
  const auto weights = RandomWeights(config, at::kBFloat16);
  const int64_t block_bytes = config.layers * config.kv_heads * 16 * 2 * config.head_dim * 2;
  CpuRunnerOptions options;
  options.cache_bytes = 3 * block_bytes + 10;
  EXPECT_EQ(MakeCpuRunner(weights, options)->limits().blocks, 3);
  EXPECT_EQ(MakeCpuRunner(weights, options)->limits().context, 48);
  options.cache_bytes = 0;
  options.slots = 5;
  EXPECT_EQ(MakeCpuRunner(weights, options)->limits().blocks, 5 * 16);
  EXPECT_EQ(MakeCpuRunner(weights, options)->limits().context, 256);
  options.context = 40;
  EXPECT_EQ(MakeCpuRunner(weights, options)->limits().blocks, 5 * 3);
  EXPECT_EQ(MakeCpuRunner(weights, options)->limits().context, 40);
  options.cache_bytes = block_bytes - 1;
  EXPECT_THROW(MakeCpuRunner(weights, options), UserError);
  options = {};
  options.slots = 0;
  EXPECT_THROW(MakeCpuRunner(weights, options), UserError);
}

}  // namespace
}  // namespace tritogen
