// How a token is chosen from one row of logits: the plain definition, which the CPU runner uses and the
// GPU's kernel is tested against.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/runner.h"
#include "runner/cpu/kernels.h"

namespace tritogen {

// The number of (0, 1) that a draw takes: the first word x of Philox4x32-10 (Salmon et al. 2011) with the
// seed as key and (0, draw, 0, 0) as counter, as (⌊x / 2⁸⌋ + ½) / 2²⁴. The token is the first one where the
// weights exp(score) of kept tokens, summed up in the tokens' order, exceed this share of them all.
float Uniform(uint64_t seed, int32_t draw);

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
  size_t Draw(float least, uint64_t seed, int32_t draw);

  const cpu::SamplingKernels& kernels_ = cpu::KernelsOf(cpu::BestLevel()).sampling;
  std::vector<float> scores_, exponentials_;
  std::vector<TokenId> order_;
};

}  // namespace tritogen
