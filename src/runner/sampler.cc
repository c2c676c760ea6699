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

float KthGreatest(std::vector<float> scores, int32_t k) {
  const auto kth = scores.begin() + k - 1;
  std::nth_element(scores.begin(), kth, scores.end(), std::greater<>());
  return *kth;
}

struct Candidate {
  float score = 0, weight = 0;
};

// The least of the most probable scores whose probabilities together reach top_p, of those from `least` on:
// parted at some score again and again, and only the part where the least one is goes on.
float LeastOfNucleus(std::span<const float> scores, float least, float greatest, float top_p) {
  std::vector<float> weights(scores.size());
  cpu::KernelsOf(cpu::BestLevel())
      .sampling.exponentials(scores.data(), greatest, static_cast<int64_t>(scores.size()), weights.data());
  std::vector<Candidate> all;
  double needed = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] < least) continue;
    all.push_back({scores[i], weights[i]});
    needed += weights[i];
  }
  needed *= top_p;
  const auto weight_of = [](auto begin, auto end) {
    return std::accumulate(begin, end, 0.0, [](double sum, const Candidate& c) { return sum + c.weight; });
  };
  auto begin = all.begin(), end = all.end();
  while (begin != end) {
    const float pivot = begin[(end - begin) / 2].score;
    const auto equal = std::partition(begin, end, [&](const Candidate& c) { return c.score > pivot; });
    const auto below = std::partition(equal, end, [&](const Candidate& c) { return c.score == pivot; });
    const double above = weight_of(begin, equal), with_equal = above + weight_of(equal, below);
    if (above >= needed && equal != begin) {
      end = equal;
    } else if (with_equal >= needed) {
      return pivot;
    } else {
      needed -= with_equal;
      begin = below;
    }
  }
  return least;
}

// No NaN.
float Greatest(std::span<const float> values) {
  return cpu::KernelsOf(cpu::BestLevel())
      .sampling.greatest(values.data(), static_cast<int64_t>(values.size()));
}
size_t FirstGreatest(std::span<const float> values) {
  return static_cast<size_t>(std::find(values.begin(), values.end(), Greatest(values)) - values.begin());
}

}  // namespace

float Uniform(uint64_t seed, int32_t draw) {
  const uint64_t counter = static_cast<uint64_t>(static_cast<uint32_t>(draw)) << 32;
  at::Philox4_32 philox(seed, /*subsequence=*/0, /*offset=*/counter);
  return (static_cast<float>(philox() >> 8) + 0.5f) * 0x1p-24f;
}

float LeastKeptScore(std::span<const float> scores, const SamplingOptions& options) {
  const float greatest = Greatest(scores);
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

// REQUIRES: the greatest score is finite and is kept.
size_t Sampler::Draw(float least, uint64_t seed, int32_t draw) {
  const int64_t count = static_cast<int64_t>(scores_.size());
  exponentials_.resize(scores_.size());
  kernels_.exponentials(scores_.data(), Greatest(scores_), count, exponentials_.data());
  for (size_t token = 0; token < scores_.size(); ++token) {
    if (scores_[token] < least) exponentials_[token] = 0;
  }
  const double wanted = Uniform(seed, draw) * kernels_.sum(exponentials_.data(), count);
  double sum = 0;
  size_t last = 0;  // with any weight
  for (size_t token = 0; token < scores_.size(); ++token) {
    if (exponentials_[token] == 0) continue;
    sum += exponentials_[token];
    last = token;
    if (sum > wanted) break;
  }
  return last;
}

Sample Sampler::Choose(std::span<const float> logits, const SamplingOptions& options,
                       std::span<const TokenId> seen, int32_t draw) {
  TRITOGEN_CHECK(!logits.empty());
  const int64_t count = static_cast<int64_t>(logits.size());
  const float greatest = kernels_.greatest(logits.data(), count);
  if (!std::isfinite(greatest)) return {{0, std::numeric_limits<float>::quiet_NaN()}, {}};
  exponentials_.resize(logits.size());
  kernels_.exponentials(logits.data(), greatest, count, exponentials_.data());
  const float log_sum = static_cast<float>(greatest + std::log(kernels_.sum(exponentials_.data(), count)));
  const auto with_logprob = [&](size_t token) {
    return TokenLogprob{static_cast<TokenId>(token), logits[token] - log_sum};
  };

  Scores(logits, options, seen);
  Sample sample{
      with_logprob(options.temperature > 0 ? Draw(LeastKeptScore(scores_, options), options.seed, draw)
                                           : FirstGreatest(scores_)),
      {}};
  if (options.top_logprobs > 0) {
    order_.resize(logits.size());
    std::iota(order_.begin(), order_.end(), 0);
    const size_t listed = std::min(static_cast<size_t>(options.top_logprobs), order_.size());
    const auto at = [&](TokenId token) { return logits[static_cast<size_t>(token)]; };
    std::partial_sort(order_.begin(), order_.begin() + static_cast<ptrdiff_t>(listed), order_.end(),
                      [&](TokenId a, TokenId b) { return at(a) > at(b) || (at(a) == at(b) && a < b); });
    for (size_t i = 0; i < listed; ++i) sample.top.push_back(with_logprob(static_cast<size_t>(order_[i])));
  }
  return sample;
}

}  // namespace tritogen
