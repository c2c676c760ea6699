// What the scheduler asks of a device: a model's steps over a batch of sequences, whose keys and values lie
// in blocks of a paged cache.
//
// Prefill fills the cache with all but the last token of a prompt and samples nothing; that token and every
// generated one go through decode rows, one token each, and only these give logits. So a text's numbers
// depend on its own tokens, and where the prompt ends, alone: who shares the batch, how a prompt was cut,
// whether blocks were found in the cache and whether a preempted sequence was computed anew (its generated
// tokens as decode rows again) make no difference in the order of computation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/bpe.h"

namespace tritogen {

// How one sequence's next token is chosen from its logits, in this order: repetition penalty (Keskar et al.
// 2019, arXiv 1909.05858: of tokens of the prompt and of the answer, positive logits are divided by it,
// others multiplied), temperature, top-k, top-p over what top-k left, min-p; among equals of the least kept
// logit all are kept. Drawn by inverting the cumulative distribution, in the order of tokens, with one number
// of a counter-based generator: the same seed, draw and logits give the same token (runner/sampler.h).
struct SamplingOptions {
  float temperature = 1;  // 0: the greatest logit, of equal ones the first
  int32_t top_k = 0;      // 0: all
  float top_p = 1;        // of (0, 1]
  float min_p = 0;        // of [0, 1]: times the greatest probability
  float repetition_penalty = 1;
  uint64_t seed = 0;
  // So many of the most probable tokens are reported with each sample; at most kMost…
  int32_t top_logprobs = 0;
};
inline constexpr int32_t kMostTopLogprobs = 20;

// A sequence takes a slot, which holds its sampling state: options, the token sampled last, tokens seen.
struct SlotStart {
  int32_t slot = 0;
  SamplingOptions sampling;
  // Prompt and what was generated before a preemption: for the penalty, and to find texts that are the same.
  std::span<const TokenId> seen;
  int32_t prompt_tokens = 0;  // of `seen`
};

// Contents of a block, for a sequence that goes on alone from a shared one.
struct BlockCopy {
  int32_t from = 0, to = 0;
};

// Keys and values of `tokens` at positions start, start + 1, …
struct PrefillChunk {
  int32_t start = 0;
  std::span<const TokenId> tokens;
  std::span<const int32_t> blocks;  // of positions 0 to the chunk's end, in order
  int32_t stretch = 0;              // the prompt's length, where it is beyond RunnerLimits::stretch_beyond
};

// One token goes in; the next one may be sampled. Several rows of one sequence in a step have rising
// positions, and at most the last of them samples.
struct DecodeRow {
  static constexpr TokenId kLast = -1;
  int32_t slot = 0;
  int32_t position = 0;             // of the token that goes in
  TokenId token = kLast;            // kLast: what the slot sampled last, which the host need not know yet
  int32_t draw = -1;                // which of the generated tokens is sampled, from 0; −1: none
  std::span<const int32_t> blocks;  // of positions 0 to `position`, in order
};

// Carried out in this order.
struct Batch {
  std::vector<SlotStart> starts;
  std::vector<BlockCopy> copies;
  std::vector<PrefillChunk> prefill;
  std::vector<DecodeRow> decode;
};

struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0;  // natural; of the model's own distribution: before penalty, temperature and cuts
};

struct Sample {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // falling; `top_logprobs` of them
};

// What a runner can hold; decided when it is made, from the memory there is.
struct RunnerLimits {
  int32_t block_tokens = 0;    // positions in a block
  int32_t blocks = 0;          // in the cache
  int32_t slots = 0;           // sequences at once
  int32_t prefill_tokens = 0;  // in a step
  int32_t decode_rows = 0;     // in a step
  int32_t context = 0;         // positions of one sequence
  int32_t vocabulary = 0;
  // Keys of a prompt of more tokens than this depend on how many it has (dynamic RoPE); 0: on none.
  int32_t stretch_beyond = 0;
  // Rows of texts that are the same so far cost what one costs, if they are in one step: samples of a prompt
  // start together.
  bool finds_twins = false;
};

class Runner {
 public:
  static constexpr int kStepsInFlight = 2;

  virtual ~Runner() = default;
  virtual const RunnerLimits& limits() const = 0;
  // Starts a step; what it points at may go when this returns. REQUIRES: within the limits, fewer than
  // kStepsInFlight steps in flight. Throws what ends the runner (a lost device); it is then of no use.
  virtual void Submit(const Batch& batch) = 0;
  // Waits for the oldest step in flight: one sample for each row with a draw, in order. NaN logits give token
  // 0 with logprob NaN. Throws as Submit.
  virtual std::vector<Sample> Wait() = 0;
  // The tensors that the runner was made with hold other numbers now; copies of its own are made anew.
  // REQUIRES: no step in flight.
  virtual void WeightsChanged() = 0;
};

}  // namespace tritogen
