// Continuous batching: requests of many threads go in, their tokens come out as they are sampled.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/runner.h"
#include "text/tokenizer.h"

namespace tritogen {

struct GenerateOptions {
  SamplingOptions sampling;  // sequence i of a request draws with the seed's i-th successor (SequenceSeed)
  int32_t max_tokens = 0;    // 0: to the end of the context
  std::vector<std::string> stop;     // the text ends before the first of these
  std::vector<TokenId> stop_tokens;  // and before any of these: the model's own eos tokens, and more
  bool skip_special_tokens = true;   // in text
};

struct Request {
  std::vector<TokenId> prompt;  // at least one
  GenerateOptions options;
  int32_t n = 1;       // sequences, which share the prompt's blocks; at most kMostSequences
  bool stream = true;  // false: one chunk a sequence, at its end
};
inline constexpr int32_t kMostSequences = 1 << 16;

enum class FinishReason { kStop, kLength, kCancelled, kError };

// News of one sequence of a request.
struct Chunk {
  int32_t index = 0;                   // of [0, n)
  std::vector<Sample> samples;         // of new tokens; the one that ended the text included
  std::string text;                    // whole characters that can no longer become part of a stop string
  std::optional<FinishReason> finish;  // in the last chunk of the sequence
  std::string error;                   // with kError
};

struct EngineOptions {
  int32_t prefill_tokens = 0;  // in a step at most; 0: what the runner can
  bool prefix_cache = true;    // blocks are found again by the tokens in them
  bool overlap = true;         // the next step is planned while the device computes (off: for comparison)
};

struct EngineStats {
  int64_t waiting = 0, running = 0;  // sequences
  int64_t prompt_tokens = 0, cached_prompt_tokens = 0, generated_tokens = 0;
  int64_t steps = 0, preemptions = 0;
  int64_t requests_finished = 0, requests_cancelled = 0, requests_failed = 0;
  int64_t blocks_used = 0, blocks = 0;  // used: by running sequences
};

using RequestId = uint64_t;

// What a front end needs of it. Thread-safe.
class Generator {
 public:
  virtual ~Generator() = default;
  // `on_chunk` is called on the engine's thread, in order for each sequence, until each had its last chunk;
  // it must be quick and must not throw. Throws UserError at once for what can never run: an empty prompt, an
  // unknown token, a prompt as long as the context (or as all of the cache), options out of range; and
  // std::runtime_error once the runner has failed: with its error, which every sequence at work ends with,
  // too.
  virtual RequestId Submit(Request request, std::function<void(Chunk)> on_chunk) = 0;
  // Its sequences end with kCancelled soon; nothing happens when they have ended.
  virtual void Cancel(RequestId id) = 0;
  virtual EngineStats Stats() const = 0;
  virtual const RunnerLimits& limits() const = 0;
};

class Engine : public Generator {
 public:
  // `tokenizer` may be null where no text is asked for (no stop strings then); it must outlive the engine.
  Engine(std::unique_ptr<Runner> runner, const Tokenizer* tokenizer, EngineOptions options);
  ~Engine() override;  // cancels what runs

  RequestId Submit(Request request, std::function<void(Chunk)> on_chunk) override;
  void Cancel(RequestId id) override;
  EngineStats Stats() const override;
  const RunnerLimits& limits() const override;

  // Calls `write`, which puts new numbers into the tensors that the runner was made with, between two steps,
  // and forgets cached blocks; sequences that run go on with their old keys and values. Blocks until it is
  // done; throws what `write` throws, and std::runtime_error once the runner has failed. `write` is called on
  // the caller's thread; not to be called from on_chunk.
  void UpdateWeights(const std::function<void()>& write);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The seed of a request's i-th sequence; the first one has the request's own.
uint64_t SequenceSeed(uint64_t seed, int32_t index);

}  // namespace tritogen
