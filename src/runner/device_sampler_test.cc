// The device's sampling, run by the tile machine, against its plain definition.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runner/device_sampler.h"
#include "runner/sampler.h"

namespace tritogen {
namespace {

constexpr int64_t kVocabulary = 9001, kRows = 8;

struct Drawn {
  std::vector<Sample> device, plain;
};

// Each row draws with its own options; row i is in slot kRows − i.
Drawn Draw(const at::Tensor& logits, const std::vector<SamplingOptions>& options,
           const std::vector<std::vector<TokenId>>& seen, int32_t draw, bool cuts = true) {
  const auto n = static_cast<int64_t>(options.size());
  DeviceSampler sampler(n, n + 1, logits.size(1), logits);
  SampleRows rows{at::zeros({n, kSampleNumbers}), at::zeros({n, kSampleWhole}, at::kInt)};
  SampleOut out{at::zeros({n}, at::kInt), at::zeros({n, 2}), at::zeros({n, kTopLogits}, at::kInt),
                at::zeros({n, kTopLogits})};
  for (int64_t i = 0; i < n; ++i) {
    const SamplingOptions& s = options[i];
    const float numbers[] = {s.temperature, s.repetition_penalty, s.top_p, s.min_p};
    const int32_t whole[] = {static_cast<int32_t>(n - i), draw, static_cast<int32_t>(s.seed),
                             static_cast<int32_t>(s.seed >> 32), s.top_k};
    std::copy(std::begin(numbers), std::end(numbers), rows.numbers[i].mutable_data_ptr<float>());
    std::copy(std::begin(whole), std::end(whole), rows.whole[i].mutable_data_ptr<int32_t>());
    sampler.SetSeen(n - i, std::vector<int64_t>(seen[i].begin(), seen[i].end()));
  }
  sampler.Sample(logits, rows, cuts, out);
  sampler.TopLogits(logits, rows, out);
  Drawn drawn;
  Sampler plain;
  for (int64_t i = 0; i < n; ++i) {
    const at::Tensor row = logits[i].to(at::kFloat).contiguous();
    drawn.plain.push_back(plain.Choose({row.const_data_ptr<float>(), static_cast<size_t>(row.numel())},
                                       options[i], seen[i], draw));
    Sample& sample = drawn.device.emplace_back();
    sample.chosen = {out.tokens[i].item<int32_t>(), out.logprobs[i][0].item<float>()};
    for (int32_t k = 0; k < options[i].top_logprobs; ++k) {
      sample.top.push_back({out.top_tokens[i][k].item<int32_t>(),
                            out.top_logits[i][k].item<float>() - out.logprobs[i][1].item<float>()});
    }
    EXPECT_EQ(sampler.last()[n - i].item<int32_t>(), sample.chosen.token);
  }
  return drawn;
}

TEST(DeviceSampler, IsThePlainDefinition) {
  const at::Tensor logits = at::randn({kRows, kVocabulary}, at::detail::createCPUGenerator(3)).mul_(3);
  std::vector<SamplingOptions> options(kRows);
  options[0].temperature = 0, options[0].repetition_penalty = 1.5;
  options[1].temperature = 0.5;
  options[2].top_k = 7;
  options[3].top_p = 0.3;
  options[4].top_p = 0.9, options[4].top_k = 100, options[4].temperature = 1.5;
  options[5].min_p = 0.1;
  options[6].repetition_penalty = 2, options[6].top_k = 20;
  options[7].temperature = 2, options[7].top_logprobs = 20;
  std::vector<std::vector<TokenId>> seen(kRows);
  for (const int64_t row : {0, 6}) {
    const at::Tensor best = std::get<1>(at::topk(logits[row], 5));
    for (int i = 0; i < 5; ++i) seen[row].push_back(best[i].item<int32_t>());
  }
  int drawn_alike = 0;
  for (int32_t draw = 0; draw < 6; ++draw) {
    for (size_t i = 0; i < options.size(); ++i) options[i].seed = i << 40 | (1000 + i);
    const Drawn both = Draw(logits, options, seen, draw);
    for (int64_t i = 0; i < kRows; ++i) {
      drawn_alike += both.device[i].chosen.token == both.plain[i].chosen.token;
      const at::Tensor expected = at::log_softmax(logits[i], 0);
      EXPECT_NEAR(both.device[i].chosen.logprob, expected[both.device[i].chosen.token].item<float>(), 1e-4);
      ASSERT_EQ(both.device[i].top.size(), both.plain[i].top.size());
      for (size_t k = 0; k < both.plain[i].top.size(); ++k) {
        EXPECT_EQ(both.device[i].top[k].token, both.plain[i].top[k].token);
        EXPECT_NEAR(both.device[i].top[k].logprob, both.plain[i].top[k].logprob, 1e-4);
      }
    }
    EXPECT_EQ(both.device[0].chosen.token, both.plain[0].chosen.token);
  }
  EXPECT_GE(drawn_alike, 47);  // of 48: sums are rounded, and a number may fall between two tokens' ends
}

// Without cuts; and of vocabularies that are read 16 bytes at once, and are not.
TEST(DeviceSampler, TemperaturesAndPenalties) {
  for (const int64_t vocabulary : {9001, 9008, 16}) {
    const at::Tensor logits = at::randn({5, vocabulary}, at::detail::createCPUGenerator(4)).mul_(3);
    std::vector<SamplingOptions> options(5);
    options[0].temperature = 0;
    options[1].temperature = 0.5;
    options[3].repetition_penalty = 1.5;
    options[4].temperature = 0, options[4].repetition_penalty = 3;
    std::vector<std::vector<TokenId>> seen(5);
    seen[4] = {at::argmax(logits[4]).item<int32_t>()};
    int drawn_alike = 0;
    for (int32_t draw = 0; draw < 6; ++draw) {
      for (size_t i = 0; i < options.size(); ++i) options[i].seed = 77 + i;
      const Drawn both = Draw(logits, options, seen, draw, /*cuts=*/false);
      for (size_t i = 0; i < options.size(); ++i) {
        drawn_alike += both.device[i].chosen.token == both.plain[i].chosen.token;
        const at::Tensor expected = at::log_softmax(logits[static_cast<int64_t>(i)], 0);
        EXPECT_NEAR(both.device[i].chosen.logprob, expected[both.device[i].chosen.token].item<float>(), 1e-4);
      }
    }
    EXPECT_GE(drawn_alike, 29) << vocabulary;  // of 30
  }
}

TEST(DeviceSampler, VocabularyOfManyChunks) {
  const at::Tensor logits = at::randn({2, 700'001}, at::detail::createCPUGenerator(5)) * 4;
  std::vector<SamplingOptions> options(2);
  options[0].temperature = 0;
  options[1].seed = 9, options[1].top_k = 5;
  const Drawn both = Draw(logits, options, {{}, {}}, 0);
  for (int i : {0, 1}) EXPECT_EQ(both.device[i].chosen.token, both.plain[i].chosen.token);
}

TEST(DeviceSampler, NanAndInfinityGiveTokenZero) {
  for (const bool cuts : {true, false}) {
    at::Tensor logits = at::randn({3, kVocabulary}, at::detail::createCPUGenerator(3));
    logits[0][5000] = std::nanf("");
    logits[1].fill_(-INFINITY);
    logits[2].fill_(-INFINITY);
    logits[2][8999] = 1;
    const Drawn both = Draw(logits, std::vector<SamplingOptions>(3), {{}, {}, {}}, 0, cuts);
    for (int i : {0, 1}) {
      EXPECT_EQ(both.device[i].chosen.token, 0);
      EXPECT_TRUE(std::isnan(both.device[i].chosen.logprob));
    }
    EXPECT_EQ(both.device[2].chosen.token, 8999);
    EXPECT_EQ(both.device[2].chosen.logprob, 0);
  }
}

}  // namespace
}  // namespace tritogen
