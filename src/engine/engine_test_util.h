// Requests to a fake model, for tests of the engine.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/collector.h"
#include "engine/engine.h"
#include "engine/fake_runner.h"

namespace tritogen {

inline const RunnerLimits kLimits = {.block_tokens = 4,
                                     .blocks = 200,
                                     .slots = 8,
                                     .prefill_tokens = 64,
                                     .decode_rows = 8,
                                     .context = 200,
                                     .vocabulary = 1000};

inline std::vector<TokenId> MakePrompt(int32_t tokens, uint64_t seed = 1) {
  std::vector<TokenId> prompt;
  for (int32_t i = 0; i < tokens; ++i)
    prompt.push_back(static_cast<TokenId>(SplitMix::At(seed, static_cast<uint64_t>(i)) % 1000));
  return prompt;
}

inline Request Ask(int32_t prompt_tokens, int32_t max_tokens, uint64_t seed = 1) {
  return {.prompt = MakePrompt(prompt_tokens, seed), .options = {.max_tokens = max_tokens}};
}

inline std::vector<TokenId> AloneTokens(const Request& request, int32_t index = 0, int weights = 0) {
  Collector::Sequence alone{.samples = Alone(request, index, kLimits, weights)};
  return alone.tokens();
}

// An engine, and its runner to look at.
struct Subject {
  explicit Subject(const RunnerLimits& limits = kLimits, const EngineOptions& options = {})
      : owned(std::make_unique<FakeRunner>(limits)), runner(owned.get()), options(options) {}
  Engine& engine() {
    if (!made) made.emplace(std::move(owned), nullptr, options);
    return *made;
  }
  const Collector::Sequence& Run(const Request& request) {
    kept.push_back(Collector(request.n));
    engine().Submit(request, kept.back().callback());
    return kept.back().Wait().front();
  }

  std::unique_ptr<FakeRunner> owned;
  FakeRunner* runner;
  EngineOptions options;
  std::deque<Collector> kept;
  std::optional<Engine> made;  // its end comes first
};

}  // namespace tritogen
