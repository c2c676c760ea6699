// How a token is chosen from one row of logits: the plain definition, which the CPU runner uses and the
// GPU's kernel is tested against.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/runner.h"

namespace tritogen {

// Gumbel noise of a token: −log of an exponential number from Philox4x32-10 (Salmon et al. 2011) with the
// seed as key and (token, draw, 0, 0) as counter, of which the first word x counts; v = (x + ½) / 2³². In
// float32, whose 1 − v is too coarse for small v.
float GumbelNoise(uint64_t seed, int32_t draw, TokenId token);

// What a row must have at least, as score (logit over temperature), to stay: top-k, then top-p of what is
// left, then min-p. REQUIRES: finite greatest score, no NaN.
float LeastKeptScore(std::span<const float> scores, const SamplingOptions& options);

// Keeps its memory between rows; one per thread.
class Sampler {
 public:
  // `seen`: tokens of the text so far, in any order, repeated or not; only asked for with a penalty. Logits
  // may be −∞. With a NaN among them, or without a finite greatest one: token 0, logprob NaN, no `top`.
  // REQUIRES: at least one logit; options in their ranges; seen tokens within the row.
  Sample Choose(std::span<const float> logits, const SamplingOptions& options, std::span<const TokenId> seen,
                int32_t draw);

 private:
  void Scores(std::span<const float> logits, const SamplingOptions& options, std::span<const TokenId> seen);

  std::vector<float> scores_;
  std::vector<TokenId> order_;
};

}  // namespace tritogen
