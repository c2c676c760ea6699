// Whatever shares the batch, however small the cache, whoever is cancelled: each sequence has the tokens that
// it has alone.
#include <gtest/gtest.h>

#include <thread>

#include "engine/collector.h"
#include "engine/engine.h"
#include "engine/fake_runner.h"

namespace tritogen {
namespace {

struct Case {
  RunnerLimits limits;
  EngineOptions options;
  std::vector<Request> requests;
  std::vector<std::optional<size_t>> cancel_after;  // tokens of the first sequence
};

Request RandomRequest(const RunnerLimits& limits, SplitMix* random) {
  const int32_t longest = std::min(limits.context, limits.blocks * limits.block_tokens);
  Request request;
  // Few unlike beginnings, so that prompts share blocks.
  const uint64_t text = random->Below(3);
  const uint64_t length = 1 + random->Below(std::min<uint64_t>(40, static_cast<uint64_t>(longest) - 1));
  for (uint64_t i = 0; i < length; ++i)
    request.prompt.push_back(static_cast<TokenId>(SplitMix::At(text, i) % limits.vocabulary));
  if (random->Chance(0.5)) request.prompt.back() = static_cast<TokenId>(random->Below(limits.vocabulary));
  request.options.sampling.seed = random->Next();
  request.options.sampling.top_logprobs = static_cast<int32_t>(random->Below(3));
  request.options.max_tokens = random->Chance(0.1) ? 0 : 1 + static_cast<int32_t>(random->Below(40));
  if (random->Chance(0.7))
    for (int i = 0; i < 3; ++i)
      request.options.stop_tokens.push_back(static_cast<TokenId>(random->Below(limits.vocabulary)));
  request.n = random->Chance(0.6) ? 1 : 1 + static_cast<int32_t>(random->Below(7));
  request.stream = random->Chance(0.5);
  return request;
}

Case RandomCase(uint64_t seed) {
  SplitMix random(seed);
  auto from = [&](int32_t low, int32_t high) {
    return low + static_cast<int32_t>(random.Below(static_cast<uint64_t>(high - low + 1)));
  };
  Case c;
  const bool tiny = random.Chance(0.6);
  c.limits = {.block_tokens = from(1, 9),
              .blocks = tiny ? from(4, 24) : from(100, 300),
              .slots = from(1, 12),
              .prefill_tokens = from(1, 60),
              .decode_rows = from(1, 16),
              .context = from(2, 90),
              .vocabulary = from(5, 60),
              .stretch_beyond = from(0, 3) == 0 ? from(1, 30) : 0,
              .finds_twins = random.Chance(0.5)};
  c.options = {.prefill_tokens = from(0, 1) * from(1, 30),
               .prefix_cache = random.Chance(0.6),
               .overlap = random.Chance(0.7)};
  for (int i = from(1, 14); i > 0; --i) {
    c.requests.push_back(RandomRequest(c.limits, &random));
    c.cancel_after.emplace_back();
    if (random.Chance(0.2)) c.cancel_after.back() = random.Below(6);
  }
  return c;
}

void Check(const Case& c, uint64_t seed, EngineStats* sum) {
  SCOPED_TRACE(fmt::format("case {}", seed));
  Engine engine(std::make_unique<FakeRunner>(c.limits), nullptr, c.options);
  std::vector<Collector> collectors;
  std::vector<RequestId> ids;
  for (const Request& request : c.requests) {
    collectors.emplace_back(request.n);
    ids.push_back(engine.Submit(request, collectors.back().callback()));
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!c.cancel_after[i]) continue;
    if (c.requests[i].stream) collectors[i].WaitForTokens(*c.cancel_after[i]);
    engine.Cancel(ids[i]);
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto& sequences = collectors[i].Wait();
    for (size_t k = 0; k < sequences.size(); ++k) {
      const Collector::Sequence& got = sequences[k];
      std::vector<Sample> expected = Alone(c.requests[i], static_cast<int32_t>(k), c.limits);
      ASSERT_TRUE(got.finish != FinishReason::kError) << got.error;
      ASSERT_TRUE(c.cancel_after[i] || got.finish != FinishReason::kCancelled);
      if (got.finish == FinishReason::kCancelled) {
        ASSERT_LE(got.samples.size(), expected.size());
        expected.resize(got.samples.size());
      } else {
        const bool stopped =
            std::ranges::count(c.requests[i].options.stop_tokens, expected.back().chosen.token) > 0;
        EXPECT_EQ(got.finish, stopped ? FinishReason::kStop : FinishReason::kLength);
      }
      if (!c.requests[i].stream) {
        EXPECT_EQ(got.chunks, 1);
      }
      ASSERT_EQ(got.samples.size(), expected.size());
      for (size_t t = 0; t < expected.size(); ++t) {
        ASSERT_EQ(got.samples[t].chosen.token, expected[t].chosen.token) << i << " " << k << " " << t;
        ASSERT_EQ(got.samples[t].chosen.logprob, expected[t].chosen.logprob);
        ASSERT_EQ(got.samples[t].top.size(), expected[t].top.size());
      }
    }
    EXPECT_EQ(collectors[i].after_the_end(), 0);
  }
  // The engine gives back what sequences held once the step that they ended in is done.
  EngineStats stats = engine.Stats();
  for (int wait = 0; wait < 2000 && (stats.blocks_used > 0 || stats.running + stats.waiting > 0); ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stats = engine.Stats();
  }
  EXPECT_EQ(stats.blocks_used, 0);
  EXPECT_EQ(stats.running + stats.waiting, 0);
  EXPECT_EQ(stats.requests_finished + stats.requests_cancelled, static_cast<int64_t>(ids.size()));
  EXPECT_EQ(stats.requests_failed, 0);
  sum->preemptions += stats.preemptions;
  sum->cached_prompt_tokens += stats.cached_prompt_tokens;
  sum->requests_cancelled += stats.requests_cancelled;
  sum->generated_tokens += stats.generated_tokens;
}

TEST(EngineProperty, TokensAreThoseOfEachSequenceAlone) {
  EngineStats sum;
  for (uint64_t seed = 0; seed < 1500 && !testing::Test::HasFailure(); ++seed)
    Check(RandomCase(seed), seed, &sum);
  // The cases meet what they are for.
  EXPECT_GT(sum.preemptions, 1000);
  EXPECT_GT(sum.cached_prompt_tokens, 1000);
  EXPECT_GT(sum.requests_cancelled, 500);
  RecordProperty("preemptions", static_cast<int>(sum.preemptions));
  RecordProperty("generated_tokens", static_cast<int>(sum.generated_tokens));
}

}  // namespace
}  // namespace tritogen
