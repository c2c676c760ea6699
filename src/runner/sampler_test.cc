#include "runner/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/splitmix.h"

namespace tritogen {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> RandomRow(uint64_t seed, size_t size, float spread) {
  SplitMix random(seed);
  std::vector<float> row(size);
  for (float& x : row) x = spread * (static_cast<float>(random.Below(2001)) / 1000 - 1);
  return row;
}

std::vector<double> Softmax(const std::vector<float>& scores) {
  const double greatest = *std::max_element(scores.begin(), scores.end());
  std::vector<double> p;
  for (const float score : scores) p.push_back(std::exp(score - greatest));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}

// The definition, token by token: how many, and how much probability, stand strictly above it.
std::vector<bool> KeptByDefinition(const std::vector<float>& scores, const SamplingOptions& options) {
  const size_t n = scores.size();
  const auto p = Softmax(scores);
  std::vector<bool> kept(n, true);
  for (size_t i = 0; i < n; ++i) {
    const auto above = std::count_if(scores.begin(), scores.end(), [&](float s) { return s > scores[i]; });
    kept[i] = options.top_k == 0 || above < options.top_k;
  }
  double left = 0;
  for (size_t i = 0; i < n; ++i) left += kept[i] ? p[i] : 0;
  const std::vector<bool> of_top_k = kept;
  for (size_t i = 0; i < n; ++i) {
    double above = 0;
    for (size_t j = 0; j < n; ++j) above += of_top_k[j] && scores[j] > scores[i] ? p[j] : 0;
    kept[i] = kept[i] && (options.top_p == 1 || above < options.top_p * left);
  }
  const double most = *std::max_element(p.begin(), p.end());
  for (size_t i = 0; i < n; ++i) kept[i] = kept[i] && p[i] >= options.min_p * most;
  return kept;
}

TEST(Sampler, KeepsWhatTheDefinitionKeeps) {
  SplitMix random(1);
  for (int i = 0; i < 3000; ++i) {
    std::vector<float> scores = RandomRow(random.Next(), 1 + random.Below(60), 5);
    for (float& score : scores) {
      if (random.Chance(0.5)) score = std::round(score);  // ties
    }
    SamplingOptions options;
    // Bounds with many bits, or sums of probabilities would meet them exactly and rounding would decide.
    if (random.Chance(0.6)) options.top_k = static_cast<int32_t>(random.Below(70));
    if (random.Chance(0.6)) options.top_p = static_cast<float>(1 + random.Below(9973)) / 9974.3f;
    if (random.Chance(0.6)) options.min_p = static_cast<float>(random.Below(9973)) / 9974.3f;
    const auto kept = KeptByDefinition(scores, options);
    const float least = LeastKeptScore(scores, options);
    for (size_t t = 0; t < scores.size(); ++t) {
      ASSERT_EQ(scores[t] >= least, kept[t])
          << i << " k " << options.top_k << " p " << options.top_p << " min " << options.min_p;
    }
  }
}

TEST(Sampler, TiesWithTheLeastKeptLogitStay) {
  const std::vector<float> scores = {1, 3, 2, 2, 2, 0};
  SamplingOptions options;
  options.top_k = 2;
  EXPECT_EQ(LeastKeptScore(scores, options), 2);
  options.top_k = 1;
  EXPECT_EQ(LeastKeptScore(scores, options), 3);
  options = {};
  options.top_p = 0.6f;  // the greatest alone has 0.46
  EXPECT_EQ(LeastKeptScore(scores, options), 2);
  options.top_p = 1e-6f;
  EXPECT_EQ(LeastKeptScore(scores, options), 3);
  options = {};
  options.min_p = 1;
  EXPECT_EQ(LeastKeptScore(scores, options), 3);
}

TEST(Sampler, TopPIsOfWhatTopKLeft) {
  const std::vector<float> scores = {std::log(0.4f), std::log(0.3f), std::log(0.2f), std::log(0.1f)};
  SamplingOptions options;
  options.top_p = 0.55f;  // of all: two tokens; of the best two, which then have 0.57 and 0.43: one
  EXPECT_EQ(LeastKeptScore(scores, options), scores[1]);
  options.top_k = 2;
  EXPECT_EQ(LeastKeptScore(scores, options), scores[0]);
}

// First words of tl.philox(seed, token, draw, 0, 0), from Triton's interpreter; the first one is also that of
// the Random123 library's own tests.
TEST(Sampler, NoiseIsOfTritonsPhilox) {
  struct Case {
    uint64_t seed;
    int32_t draw;
    TokenId token;
    uint32_t word;
  };
  for (const Case& c :
       {Case{0, 0, 0, 0x6627e8d5}, Case{1, 0, 0, 0xe3e80670}, Case{0x123456789abcdef0, 7, 151935, 0x4a2fb97e},
        Case{~uint64_t{0}, 0x7fffffff, 4194303, 0xfc61854e}, Case{42, 3, 5, 0xade97e9d}}) {
    const double v = (c.word + 0.5) / 4294967296.0;
    EXPECT_NEAR(GumbelNoise(c.seed, c.draw, c.token), -std::log(-std::log1p(-v)), 2e-6) << c.seed;
  }
}

class Chosen : public testing::Test {
 protected:
  TokenId Of(const std::vector<float>& logits, const SamplingOptions& options, int32_t draw = 0) {
    return sampler_.Choose(logits, options, seen_, draw).chosen.token;
  }
  // Pearson's statistic of `draws` tokens against probabilities `p`; tokens without probability must not
  // come.
  double ChiSquare(const std::vector<float>& logits, const SamplingOptions& options,
                   const std::vector<double>& p, int draws) {
    std::vector<int> counts(logits.size());
    for (int draw = 0; draw < draws; ++draw) ++counts[static_cast<size_t>(Of(logits, options, draw))];
    double sum = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      if (p[i] == 0) {
        EXPECT_EQ(counts[i], 0) << i;
        continue;
      }
      const double expected = p[i] * draws;
      sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
  }
  Sampler sampler_;
  std::vector<TokenId> seen_;
};

TEST_F(Chosen, DistributionIsThatOfTheScores) {
  const std::vector<float> logits = RandomRow(3, 20, 2);
  SamplingOptions options;
  options.seed = 77;
  options.temperature = 0.7f;
  std::vector<float> scores = logits;
  for (float& x : scores) x /= options.temperature;
  EXPECT_LT(ChiSquare(logits, options, Softmax(scores), 40000), 43.8);  // 19 degrees of freedom: 1 in 1000

  options.top_k = 8;
  options.top_p = 0.9f;
  options.min_p = 0.05f;
  std::vector<float> kept = scores;
  const auto is_kept = KeptByDefinition(scores, options);
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!is_kept[i]) kept[i] = -kInfinity;
  }
  EXPECT_LT(ChiSquare(logits, options, Softmax(kept), 40000), 24.3);  // at most 7
}

TEST_F(Chosen, PenaltyDividesPositiveLogitsAndMultipliesOthers) {
  const std::vector<float> logits = {2, 1.5f, -1, -1.2f};
  SamplingOptions options;
  options.temperature = 0;
  options.repetition_penalty = 1.5f;
  EXPECT_EQ(Of(logits, options), 0);
  seen_ = {0, 0, 0};  // once, however often it was seen
  EXPECT_EQ(Of(logits, options), 1);
  EXPECT_EQ(Of({-1, -1.2f, -2, -3}, options), 1);

  seen_ = {0, 2};
  options.temperature = 2;
  const std::vector<double> p = Softmax({2 / 1.5f / 2, 0.75f, -0.75f, -0.6f});
  EXPECT_LT(ChiSquare(logits, options, p, 20000), 16.3);
}

TEST_F(Chosen, GreedyIsTheFirstOfTheGreatest) {
  SamplingOptions options;
  options.temperature = 0;
  EXPECT_EQ(Of({-3, 1, 4, 4, 2}, options), 2);
  EXPECT_EQ(Of({-kInfinity, -kInfinity, -5}, options), 2);
  EXPECT_EQ(Of({0}, options), 0);
}

TEST_F(Chosen, SameSeedAndDrawSameToken) {
  const std::vector<float> logits = RandomRow(5, 500, 1);
  SamplingOptions options;
  options.seed = 9;
  std::map<TokenId, int> tokens;
  for (int draw = 0; draw < 50; ++draw) {
    const TokenId token = Of(logits, options, draw);
    EXPECT_EQ(Of(logits, options, draw), token);
    ++tokens[token];
  }
  EXPECT_GT(tokens.size(), 30u);
  options.seed = 10;
  int equal = 0;
  for (int draw = 0; draw < 50; ++draw) equal += tokens.contains(Of(logits, options, draw));
  EXPECT_LT(equal, 20);
}

TEST_F(Chosen, LogprobsAreOfTheModelItself) {
  const std::vector<float> logits = RandomRow(8, 300, 6);
  SamplingOptions options;
  options.temperature = 0.3f;
  options.top_k = 2;
  options.repetition_penalty = 3;
  options.top_logprobs = 5;
  seen_ = {1, 2, 3};
  const Sample sample = sampler_.Choose(logits, options, seen_, 0);
  const auto p = Softmax(logits);
  EXPECT_NEAR(sample.chosen.logprob, std::log(p[static_cast<size_t>(sample.chosen.token)]), 1e-5);
  ASSERT_EQ(sample.top.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    const size_t token = static_cast<size_t>(sample.top[i].token);
    EXPECT_NEAR(sample.top[i].logprob, std::log(p[token]), 1e-5);
    EXPECT_EQ(std::count_if(logits.begin(), logits.end(), [&](float x) { return x > logits[token]; }),
              static_cast<ptrdiff_t>(i));
  }
  options.top_logprobs = 20;
  EXPECT_EQ(sampler_.Choose({{1, 1, 2}}, options, {}, 0).top.size(), 3u);
  EXPECT_EQ(sampler_.Choose({{1, 1, 2}}, options, {}, 0).top[1].token, 0);  // of equals the first
}

TEST_F(Chosen, RowsWithoutANumberAreSaidToBe) {
  SamplingOptions options;
  options.top_k = 2;
  options.top_p = 0.5f;
  options.top_logprobs = 2;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& logits :
       {std::vector<float>{1, nan, 3}, {nan, nan}, {-kInfinity, -kInfinity}, {1, kInfinity}}) {
    const Sample sample = sampler_.Choose(logits, options, {}, 0);
    EXPECT_EQ(sample.chosen.token, 0);
    EXPECT_TRUE(std::isnan(sample.chosen.logprob));
    EXPECT_TRUE(sample.top.empty());
  }
}

}  // namespace
}  // namespace tritogen
