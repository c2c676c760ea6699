#include "engine/make_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/splitmix.h"
#include "engine/scheduler.h"

namespace tritogen {
namespace {

void Require(bool holds, std::string_view option, auto value, std::string_view range) {
  if (!holds) throw UserError(fmt::format("{} is {}; it must be {}", option, value, range));
}

void CheckSampling(const SamplingOptions& s) {
  Require(std::isfinite(s.temperature) && s.temperature >= 0, "temperature", s.temperature, "0 or more");
  Require(s.top_k >= 0, "top_k", s.top_k, "0 (all) or more");
  Require(s.top_p > 0 && s.top_p <= 1, "top_p", s.top_p, "more than 0 and at most 1");
  Require(s.min_p >= 0 && s.min_p <= 1, "min_p", s.min_p, "from 0 to 1");
  Require(std::isfinite(s.repetition_penalty) && s.repetition_penalty > 0, "repetition_penalty",
          s.repetition_penalty, "more than 0");
  Require(s.top_logprobs >= 0 && s.top_logprobs <= kMostTopLogprobs, "top_logprobs", s.top_logprobs,
          fmt::format("from 0 to {}", kMostTopLogprobs));
}

void CheckPrompt(const std::vector<TokenId>& prompt, const RunnerLimits& limits) {
  if (prompt.empty()) throw UserError("the prompt has no tokens; a model needs one at least to go on from");
  for (const TokenId token : prompt) {
    if (token < 0 || token >= limits.vocabulary)
      throw UserError(fmt::format("the prompt has token {}, but the model's go from 0 to {}", token,
                                  limits.vocabulary - 1));
  }
  const int32_t longest = LongestSequence(limits);
  if (prompt.size() >= static_cast<size_t>(longest)) {
    throw UserError(fmt::format("the prompt has {} tokens; with {} it leaves no place for an answer",
                                prompt.size(),
                                longest == limits.context ? fmt::format("a context of {}", longest)
                                                          : fmt::format("a cache of {} positions", longest)));
  }
}

void CheckRequest(const Request& request, const RunnerLimits& limits, const Tokenizer* tokenizer) {
  const GenerateOptions& options = request.options;
  CheckPrompt(request.prompt, limits);
  CheckSampling(options.sampling);
  Require(request.n >= 1 && request.n <= kMostSequences, "n", request.n,
          fmt::format("from 1 to {}", kMostSequences));
  Require(options.max_tokens >= 0, "max_tokens", options.max_tokens,
          "0 (as many as there is place for) or more");
  if (tokenizer == nullptr && !options.stop.empty())
    throw UserError("stop strings need a tokenizer, which this engine was made without");
  if (std::ranges::any_of(options.stop, &std::string::empty)) throw UserError("a stop string is empty");
}

}  // namespace

uint64_t SequenceSeed(uint64_t seed, int32_t index) {
  return index == 0 ? seed : SplitMix::At(seed, static_cast<uint64_t>(index) - 1);
}

std::unique_ptr<Group> MakeGroup(RequestId id, Request request, std::function<void(Chunk)> on_chunk,
                                 const RunnerLimits& limits, const Tokenizer* tokenizer) {
  CheckRequest(request, limits, tokenizer);
  auto group = std::make_unique<Group>();
  group->id = id;
  group->request = std::move(request);
  group->on_chunk = std::move(on_chunk);
  GenerateOptions& options = group->request.options;
  std::ranges::sort(options.stop_tokens);
  const auto prompt = static_cast<int32_t>(group->request.prompt.size());
  int32_t most = LongestSequence(limits) - prompt;
  if (options.max_tokens > 0) most = std::min(most, options.max_tokens);
  group->unfinished = group->request.n;
  group->sequences.reserve(static_cast<size_t>(group->request.n));
  for (int32_t i = 0; i < group->request.n; ++i) {
    group->sequences.push_back({.prompt_tokens = prompt,
                                .most = most,
                                .output = SequenceOutput(&options, tokenizer, i, most),
                                .group = group.get(),
                                .index = i});
  }
  return group;
}

}  // namespace tritogen
