#include "runner/sampler.h"

#include <ATen/core/PhiloxRNGEngine.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace tritogen {
namespace {

constexpr float kMostNoise = 23;  // GumbelNoise is at most −log(2⁻³³) ≈ 22.9

float KthGreatest(std::vector<float> scores, int32_t k) {
  const auto kth = scores.begin() + k - 1;
  std::nth_element(scores.begin(), kth, scores.end(), std::greater<>());
  return *kth;
}

// The least of the most probable scores whose probabilities together reach top_p, of those from `least` on.
float LeastOfNucleus(std::span<const float> scores, float least, float greatest, float top_p) {
  std::vector<float> heap;
  double total = 0;
  for (const float score : scores) {
    if (score < least) continue;
    heap.push_back(score);
    total += std::exp(static_cast<double>(score) - greatest);
  }
  std::make_heap(heap.begin(), heap.end());
  double sum = 0;
  for (auto end = heap.end(); end != heap.begin(); --end) {
    std::pop_heap(heap.begin(), end);
    const float score = *(end - 1);
    sum += std::exp(static_cast<double>(score) - greatest);
    if (sum >= top_p * total) return score;
  }
  return least;
}

size_t FirstGreatest(std::span<const float> values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// The token with the greatest score and noise together, of those from `least` on; of equals the first.
size_t GreatestWithNoise(std::span<const float> scores, float least, uint64_t seed, int32_t draw) {
  const auto noisy = [&](size_t token) {
    return scores[token] + GumbelNoise(seed, draw, static_cast<TokenId>(token));
  };
  size_t best = FirstGreatest(scores);  // first, so that most others cannot reach it and need no noise
  float best_value = noisy(best);
  for (size_t token = 0; token < scores.size(); ++token) {
    if (scores[token] < least || scores[token] + kMostNoise < best_value) continue;
    const float value = noisy(token);
    if (value > best_value || (value == best_value && token < best)) {
      best = token;
      best_value = value;
    }
  }
  return best;
}

}  // namespace

float GumbelNoise(uint64_t seed, int32_t draw, TokenId token) {
  const uint64_t counter =
      static_cast<uint64_t>(static_cast<uint32_t>(draw)) << 32 | static_cast<uint32_t>(token);
  at::Philox4_32 philox(seed, /*subsequence=*/0, /*offset=*/counter);
  const float v = (static_cast<float>(philox()) + 0.5f) * 0x1p-32f;
  const float exponential = v < 1e-3f ? v + v * v / 2 : -std::log(1 - v);
  return -std::log(exponential);
}

float LeastKeptScore(std::span<const float> scores, const SamplingOptions& options) {
  const float greatest = *std::max_element(scores.begin(), scores.end());
  float least = -std::numeric_limits<float>::infinity();
  if (options.top_k > 0 && static_cast<size_t>(options.top_k) < scores.size()) {
    least = KthGreatest({scores.begin(), scores.end()}, options.top_k);
  }
  if (options.top_p < 1) least = std::max(least, LeastOfNucleus(scores, least, greatest, options.top_p));
  if (options.min_p > 0) least = std::max(least, greatest + std::log(options.min_p));
  return least;
}

void Sampler::Scores(std::span<const float> logits, const SamplingOptions& options,
                     std::span<const TokenId> seen) {
  scores_.assign(logits.begin(), logits.end());
  if (options.repetition_penalty != 1) {
    for (const TokenId token : seen) {
      const float logit = logits[static_cast<size_t>(token)];
      scores_[static_cast<size_t>(token)] =
          logit > 0 ? logit / options.repetition_penalty : logit * options.repetition_penalty;
    }
  }
  if (options.temperature > 0) {
    for (float& score : scores_) score /= options.temperature;
  }
}

Sample Sampler::Choose(std::span<const float> logits, const SamplingOptions& options,
                       std::span<const TokenId> seen, int32_t draw) {
  TRITOGEN_CHECK(!logits.empty());
  float greatest = -std::numeric_limits<float>::infinity();
  bool has_nan = false;
  for (const float logit : logits) {
    has_nan |= std::isnan(logit);
    greatest = std::max(greatest, logit);
  }
  if (has_nan || !std::isfinite(greatest)) return {{0, std::numeric_limits<float>::quiet_NaN()}, {}};
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - greatest);
  const float log_sum = static_cast<float>(greatest + std::log(sum));
  const auto with_logprob = [&](size_t token) {
    return TokenLogprob{static_cast<TokenId>(token), logits[token] - log_sum};
  };

  Scores(logits, options, seen);
  Sample sample{
      with_logprob(options.temperature > 0
                       ? GreatestWithNoise(scores_, LeastKeptScore(scores_, options), options.seed, draw)
                       : FirstGreatest(scores_)),
      {}};
  if (options.top_logprobs > 0) {
    order_.resize(logits.size());
    std::iota(order_.begin(), order_.end(), 0);
    const size_t count = std::min(static_cast<size_t>(options.top_logprobs), order_.size());
    const auto at = [&](TokenId token) { return logits[static_cast<size_t>(token)]; };
    std::partial_sort(order_.begin(), order_.begin() + static_cast<ptrdiff_t>(count), order_.end(),
                      [&](TokenId a, TokenId b) { return at(a) > at(b) || (at(a) == at(b) && a < b); });
    for (size_t i = 0; i < count; ++i) sample.top.push_back(with_logprob(static_cast<size_t>(order_[i])));
  }
  return sample;
}

}  // namespace tritogen
