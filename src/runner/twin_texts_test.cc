// Texts that are the same: which are found, and that a runner that computes them once says what one says that
// computes each.
#include "runner/twin_texts.h"

#include <gtest/gtest.h>

#include "runner/cpu_runner_test_util.h"

namespace tritogen {
namespace {

std::vector<int32_t> Found(TwinTexts* twins, const std::vector<DecodeRow>& rows) {
  const std::span<const int32_t> found = twins->Find(rows);
  return {found.begin(), found.end()};
}

DecodeRow RowAt(int32_t slot, int32_t position, TokenId token = DecodeRow::kLast) {
  return {.slot = slot, .position = position, .token = token, .draw = 0, .blocks = {}};
}

TEST(TwinTexts, AreTheSameUntilTheyDrawUnlikeTokens) {
  const Tokens prompt = {5, 6, 7};
  TwinTexts twins(4);
  for (int32_t slot = 0; slot < 4; ++slot)
    twins.Start({.slot = slot, .sampling = {}, .seen = prompt, .prompt_tokens = 3});
  EXPECT_EQ(Found(&twins, {RowAt(2, 2, 7), RowAt(0, 2, 7), RowAt(1, 2, 7), RowAt(3, 2, 7)}),
            (std::vector<int32_t>{0, 0, 0, 0}));
  for (int32_t slot = 0; slot < 4; ++slot) twins.Drawn(slot, slot % 2);
  EXPECT_EQ(Found(&twins, {RowAt(0, 3), RowAt(1, 3), RowAt(2, 3), RowAt(3, 3)}),
            (std::vector<int32_t>{0, 1, 0, 1}));
  for (int32_t slot = 0; slot < 4; ++slot) twins.Drawn(slot, 9);  // what they differ in lies behind them
  EXPECT_EQ(Found(&twins, {RowAt(0, 4), RowAt(1, 4), RowAt(2, 4), RowAt(3, 4)}),
            (std::vector<int32_t>{0, 1, 0, 1}));
  twins.Start({.slot = 1, .sampling = {}, .seen = Tokens{5, 6, 7, 0, 9}, .prompt_tokens = 3});
  EXPECT_EQ(Found(&twins, {RowAt(1, 4, 9), RowAt(0, 4), RowAt(3, 4)}), (std::vector<int32_t>{0, 0, 2}))
      << "a slot with another text";
}

TEST(TwinTexts, AreOnlyWhatIsKnownToBeTheSame) {
  const Tokens text = {5, 6, 7, 8};
  TwinTexts twins(6);
  for (int32_t slot = 0; slot < 6; ++slot)
    twins.Start({.slot = slot, .sampling = {}, .seen = text, .prompt_tokens = slot == 1 ? 3 : 4});
  EXPECT_EQ(Found(&twins, {RowAt(0, 3), RowAt(1, 3)}), (std::vector<int32_t>{0, 1}))
      << "what goes through prefill is computed in another order";
  EXPECT_EQ(Found(&twins, {RowAt(0, 2, 7), RowAt(2, 2, 7), RowAt(0, 3), RowAt(2, 3)}),
            (std::vector<int32_t>{0, 1, 2, 2}))
      << "rows that are computed anew";
  EXPECT_EQ(Found(&twins, {RowAt(0, 3), RowAt(2, 3, 9)}), (std::vector<int32_t>{0, 1})) << "another token";
  twins.Start({.slot = 3, .sampling = {}, .seen = {}, .prompt_tokens = 0});
  twins.Start({.slot = 4, .sampling = {}, .seen = {}, .prompt_tokens = 0});
  twins.Drawn(3, 1), twins.Drawn(4, 1);
  EXPECT_EQ(Found(&twins, {RowAt(3, 0), RowAt(4, 0)}), (std::vector<int32_t>{0, 1})) << "unknown prompts";
  twins.WeightsChanged();
  EXPECT_EQ(Found(&twins, {RowAt(0, 3), RowAt(2, 3)}), (std::vector<int32_t>{0, 1}));
  twins.Start({.slot = 2, .sampling = {}, .seen = text, .prompt_tokens = 4});
  EXPECT_EQ(Found(&twins, {RowAt(0, 3), RowAt(2, 3)}), (std::vector<int32_t>{0, 1})) << "by old weights";
  twins.Start({.slot = 0, .sampling = {}, .seen = text, .prompt_tokens = 4});
  EXPECT_EQ(Found(&twins, {RowAt(0, 3), RowAt(2, 3)}), (std::vector<int32_t>{0, 0}));
}

struct Drawn {
  std::vector<Tokens> texts;
  std::vector<std::vector<Row>> rows;  // of each text
  bool operator==(const Drawn&) const = default;
};

// Samples of one prompt, beside an unlike one.
Drawn Draw(const std::shared_ptr<const DecoderWeights>& weights, cpu::Level level, float penalty,
           bool twins) {
  CpuRunnerOptions options;
  options.level = level;
  options.twins = twins;
  Driver driver(weights, options);
  SamplingOptions sampling;
  sampling.temperature = 0.4f;
  sampling.repetition_penalty = penalty;
  sampling.top_logprobs = kVocabulary;
  std::vector<Text> running;
  for (uint64_t i = 0; i < 7; ++i) {
    sampling.seed = 1 + i;
    Text& text = running.emplace_back(driver.MakeText(RandomTokens(i == 2 ? 5 : 4, 21), sampling));
    driver.step.starts.back().prompt_tokens = 21;
    driver.Prefill(text, 0, 20);
    driver.Decode(text, 20, 0);
  }
  Drawn drawn{{}, std::vector<std::vector<Row>>(running.size())};
  for (int32_t draw = 1; draw <= 40; ++draw) {
    const std::vector<Sample> samples = driver.Go();
    for (size_t i = 0; i < running.size(); ++i) {
      running[i].tokens.push_back(samples[i].chosen.token);
      drawn.rows[i].push_back(RowOf(samples[i]));
      driver.Decode(running[i], running[i].tokens.size() - 1, draw, /*last=*/true);
    }
  }
  for (const Text& text : running) drawn.texts.push_back(text.tokens);
  return drawn;
}

TEST(TwinTexts, ComputedOnceSayWhatEachWouldSay) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const auto weights = RandomWeights(Configs()[0].config, dtype);
    for (const cpu::Level level : {cpu::Level::kGeneric, cpu::BestLevel()}) {
      for (const float penalty : {1.0f, 1.3f}) {
        const Drawn once = Draw(weights, level, penalty, true), each = Draw(weights, level, penalty, false);
        EXPECT_EQ(once, each) << dtype << " " << penalty;
        EXPECT_NE(once.texts[0], once.texts[2]);
        // Some draws are the same at first, and all have parted at the end.
        EXPECT_EQ(once.rows[0][0], once.rows[6][0]);
        EXPECT_NE(once.texts[0], once.texts[6]);
      }
    }
  }
}

// More rows than go through the model at once, half of them the twins of others far away.
TEST(TwinTexts, AreFoundInStepsOfManyRows) {
  const auto weights = RandomWeights(Configs()[0].config, at::kFloat);
  const auto samples_of = [&](bool twins) {
    CpuRunnerOptions options;
    options.threads = 1, options.slots = 600, options.decode_rows = 600, options.context = 32;
    options.twins = twins;
    const auto runner = MakeCpuRunner(weights, options);
    std::vector<Tokens> texts;
    std::vector<std::vector<int32_t>> blocks;
    for (int32_t slot = 0; slot < 600; ++slot) {
      texts.push_back(RandomTokens(static_cast<uint64_t>(slot % 300), 1));
      texts.back().push_back(slot % 300 % kVocabulary);
      blocks.push_back({slot});
    }
    Batch step;
    for (int32_t slot = 0; slot < 600; ++slot) {
      const auto at = static_cast<size_t>(slot);
      step.starts.push_back({slot, Driver::Everything(), texts[at], 2});
      step.prefill.push_back({0, std::span(texts[at]).first(1), blocks[at]});
      step.decode.push_back({slot, 1, texts[at][1], 0, blocks[at]});
    }
    runner->Submit(step);
    std::vector<Row> rows;
    for (const Sample& sample : runner->Wait()) rows.push_back(RowOf(sample));
    step = {};
    for (int32_t slot = 599; slot >= 0; --slot)
      step.decode.push_back({slot, 2, DecodeRow::kLast, 1, blocks[static_cast<size_t>(slot)]});
    runner->Submit(step);
    for (const Sample& sample : runner->Wait()) rows.push_back(RowOf(sample));
    return rows;
  };
  const std::vector<Row> once = samples_of(true);
  ASSERT_EQ(once.size(), 1200u);
  EXPECT_EQ(once, samples_of(false));
  EXPECT_EQ(once[0], once[300]);
  EXPECT_NE(once[0], once[1]);
}

}  // namespace
}  // namespace tritogen
