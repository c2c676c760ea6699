#include "engine/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/error.h"
#include "engine/engine_test_util.h"

namespace tritogen {
namespace {

std::string Refusal(Request request, const RunnerLimits& limits = kLimits) {
  Subject subject(limits);
  try {
    subject.engine().Submit(std::move(request), [](Chunk) {});
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Engine, RefusesWhatCanNeverRun) {
  auto with = [](auto change) {
    Request request = Ask(3, 5);
    change(&request);
    return Refusal(request);
  };
  const float nan = std::nanf("");
  EXPECT_EQ(with([](Request*) {}), "");
  EXPECT_NE(with([](Request* r) { r->prompt.clear(); }).find("no tokens"), std::string::npos);
  EXPECT_NE(with([](Request* r) { r->prompt[1] = 1000; }).find("token 1000"), std::string::npos);
  EXPECT_NE(with([](Request* r) { r->prompt[1] = -1; }).find("token -1"), std::string::npos);
  EXPECT_EQ(with([](Request* r) { r->prompt = MakePrompt(199); }), "");
  EXPECT_NE(with([](Request* r) { r->prompt = MakePrompt(200); }).find("context of 200"), std::string::npos);
  EXPECT_NE(with([](Request* r) { r->n = 0; }), "");
  EXPECT_NE(with([](Request* r) { r->n = kMostSequences + 1; }), "");
  EXPECT_NE(with([](Request* r) { r->options.max_tokens = -1; }), "");
  for (const float bad : {-1.0f, nan, std::numeric_limits<float>::infinity()}) {
    EXPECT_NE(with([&](Request* r) { r->options.sampling.temperature = bad; }), "");
    EXPECT_NE(with([&](Request* r) { r->options.sampling.top_p = bad; }), "");
    EXPECT_NE(with([&](Request* r) { r->options.sampling.min_p = bad; }), "");
    EXPECT_NE(with([&](Request* r) { r->options.sampling.repetition_penalty = bad; }), "");
  }
  EXPECT_NE(with([](Request* r) { r->options.sampling.top_k = -1; }), "");
  EXPECT_NE(with([](Request* r) { r->options.sampling.top_logprobs = 21; }), "");
  EXPECT_NE(with([](Request* r) { r->options.stop = {"x"}; }).find("tokenizer"), std::string::npos);

  RunnerLimits small = kLimits;
  small.blocks = 5;
  EXPECT_NE(Refusal(Ask(20, 1), small).find("cache of 20"), std::string::npos);
  EXPECT_EQ(Refusal(Ask(19, 100), small), "");
}

TEST(Engine, EndsAtTheBudgetAndAtTheEndOfTheContext) {
  Subject subject;
  const Collector::Sequence& five = subject.Run(Ask(10, 5));
  EXPECT_EQ(five.finish, FinishReason::kLength);
  EXPECT_EQ(five.samples.size(), 5u);
  EXPECT_EQ(subject.Run(Ask(190, 0)).samples.size(), 10u);
  EXPECT_EQ(subject.Run(Ask(190, 50)).samples.size(), 10u);
}

TEST(Engine, EachOfAGroupHasItsOwnSeed) {
  for (const int32_t tokens : {1, 2, 15, 17}) {
    Subject subject;
    Request request = Ask(tokens, 6);
    request.n = 8;
    subject.Run(request);
    const auto& sequences = subject.kept.back().Wait();
    for (int32_t i = 0; i < 8; ++i) EXPECT_EQ(sequences[i].tokens(), AloneTokens(request, i)) << i;
    EXPECT_NE(sequences[0].tokens(), sequences[1].tokens());
  }
}

// What the runner was asked to do.
struct Log {
  int32_t prefill = 0, copies = 0, steps = 0, most_prefill = 0, kept_waiting = 0;
};
Log Trace(const std::vector<Request>& requests, const EngineOptions& options, bool one_by_one) {
  Log log;
  bool decoding = false;  // some sequence has rows, none has ended
  auto runner = std::make_unique<FakeRunner>(kLimits);
  std::atomic<bool> go = false;
  runner->on_submit = [&](const Batch& batch) {
    while (!go) std::this_thread::yield();
    int32_t prefill = 0;
    for (const PrefillChunk& chunk : batch.prefill) prefill += static_cast<int32_t>(chunk.tokens.size());
    log.prefill += prefill;
    log.most_prefill = std::max(log.most_prefill, prefill);
    log.copies += static_cast<int32_t>(batch.copies.size());
    log.kept_waiting += decoding && batch.decode.empty();
    decoding = decoding || !batch.decode.empty();
    ++log.steps;
  };
  go = one_by_one;
  std::deque<Collector> collectors;
  {
    Engine engine(std::move(runner), nullptr, options);
    for (const Request& request : requests) {
      collectors.emplace_back(request.n);
      engine.Submit(request, collectors.back().callback());
      if (one_by_one) collectors.back().Wait();
    }
    go = true;
    for (const Collector& collector : collectors) collector.Wait();
  }
  return log;
}

TEST(Engine, AGroupPrefillsItsPromptOnceAndCopiesThePartOfABlock) {
  Request request = Ask(15, 6);
  request.n = 8;
  const Log part = Trace({request}, {}, true);
  EXPECT_EQ(part.prefill, 14);
  EXPECT_EQ(part.copies, 7) << "the last one has the block for itself";
  request.prompt = MakePrompt(17);
  const Log whole = Trace({request}, {}, true);
  EXPECT_EQ(whole.prefill, 16);
  EXPECT_EQ(whole.copies, 0);
}

// Slots are freed one by one, since the answers before are unlike long; a group takes six, another one more
// than there are.
TEST(Engine, SamplesOfAPromptStartTogetherWhereThatPays) {
  const Request six = Ask(9, 10, 20), twelve = Ask(9, 10, 21);
  for (const bool finds_twins : {false, true}) {
    RunnerLimits limits = kLimits;
    limits.finds_twins = finds_twins;
    Subject subject(limits);
    std::atomic<bool> all_submitted = false;
    int64_t most_of_six = 0, most_of_twelve = 0;  // that a step starts
    subject.runner->on_submit = [&](const Batch& batch) {
      while (!all_submitted) std::this_thread::yield();
      const auto of = [&](const Request& request) {
        return std::ranges::count_if(batch.starts, [&](const SlotStart& start) {
          return std::ranges::equal(start.seen, request.prompt);
        });
      };
      most_of_six = std::max(most_of_six, of(six));
      most_of_twelve = std::max(most_of_twelve, of(twelve));
    };
    std::deque<Collector> collectors;
    const auto submit = [&](Request request, int32_t n) {
      request.n = n;
      collectors.emplace_back(n);
      subject.engine().Submit(request, collectors.back().callback());
    };
    for (int32_t i = 0; i < 8; ++i) submit(Ask(5, 40 + 3 * i, static_cast<uint64_t>(i)), 1);
    submit(six, 6);
    submit(twelve, 12);
    all_submitted = true;
    for (const Collector& collector : collectors) collector.Wait();
    if (finds_twins) {
      EXPECT_EQ(most_of_six, 6);
      EXPECT_EQ(most_of_twelve, 8) << "all slots at once";
    } else {
      EXPECT_LT(most_of_six, 6);
    }
  }
}

TEST(Engine, FindsThePrefixAgain) {
  Request longer = Ask(30, 4);
  longer.prompt[22] += longer.prompt[22] == 0 ? 1 : -1;
  EXPECT_EQ(Trace({Ask(30, 4), Ask(30, 4), longer}, {}, true).prefill, 29 + (29 - 28) + (29 - 20));
  EXPECT_EQ(Trace({Ask(30, 4), Ask(30, 4)}, {.prefix_cache = false}, true).prefill, 2 * 29);
  Subject subject;
  subject.Run(Ask(30, 4));
  EXPECT_EQ(subject.Run(Ask(30, 4)).tokens(), AloneTokens(Ask(30, 4)));
  EXPECT_EQ(subject.engine().Stats().cached_prompt_tokens, 28);
  EXPECT_EQ(subject.engine().Stats().prompt_tokens, 60);
}

TEST(Engine, RunningSequencesAreNotKeptWaitingByPrompts) {
  std::vector<Request> requests = {Ask(3, 100)};
  for (uint64_t i = 0; i < 6; ++i) requests.push_back(Ask(150, 2, 10 + i));
  const Log log = Trace(requests, {.prefill_tokens = 16}, false);
  EXPECT_EQ(log.most_prefill, 16);
  EXPECT_EQ(log.prefill, 2 + 6 * 149);
  EXPECT_EQ(log.kept_waiting, 0);
}

TEST(Engine, FirstComeFirstServed) {
  RunnerLimits limits = kLimits;
  limits.slots = 1;
  Engine engine(std::make_unique<FakeRunner>(limits), nullptr, {});
  std::mutex mutex;
  std::vector<int> order;
  std::deque<Collector> collectors;
  for (int i = 0; i < 10; ++i) {
    collectors.emplace_back();
    engine.Submit(Ask(10 + 7 * (i % 3), 1 + i % 4, static_cast<uint64_t>(i)),
                  [&, i, collect = collectors.back().callback()](Chunk chunk) {
                    if (chunk.finish) {
                      const std::lock_guard lock(mutex);
                      order.push_back(i);
                    }
                    collect(std::move(chunk));
                  });
  }
  for (const Collector& collector : collectors) collector.Wait();
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(Engine, TheLatestGivesWayAndNobodyFails) {
  RunnerLimits limits = kLimits;
  limits.blocks = 20;
  Subject subject(limits);
  std::deque<Collector> collectors;
  std::vector<Request> requests;
  for (uint64_t i = 0; i < 6; ++i) {
    requests.push_back(Ask(10, 60, i));
    collectors.emplace_back();
    subject.engine().Submit(requests.back(), collectors.back().callback());
  }
  for (size_t i = 0; i < requests.size(); ++i)
    EXPECT_EQ(collectors[i].Wait()[0].tokens(), AloneTokens(requests[i])) << i;
  EXPECT_GT(subject.engine().Stats().preemptions, 0);
}

TEST(Engine, PlansTheNextStepWhileOneRuns) {
  for (const bool overlap : {false, true}) {
    auto runner = std::make_unique<FakeRunner>(kLimits);
    int in_flight = 0, most = 0;
    bool last = false;
    runner->on_submit = [&](const Batch& batch) {
      most = std::max(most, ++in_flight);
      for (const DecodeRow& row : batch.decode) last = last || row.token == DecodeRow::kLast;
    };
    runner->on_wait = [&] { --in_flight; };
    Collector collector;
    {
      Engine engine(std::move(runner), nullptr, {.overlap = overlap});
      engine.Submit(Ask(10, 20), collector.callback());
      EXPECT_EQ(collector.Wait()[0].tokens(), AloneTokens(Ask(10, 20)));
    }
    EXPECT_EQ(most, overlap ? 2 : 1);
    EXPECT_EQ(last, overlap) << "the host need not know the token";
  }
}

TEST(Engine, CancelsSoonAndOnce) {
  Subject subject;
  Request request = Ask(10, 0);
  request.n = 3;
  Collector collector(3), other;
  const RequestId id = subject.engine().Submit(request, collector.callback());
  subject.engine().Submit(Ask(20, 30), other.callback());
  subject.engine().Cancel(id);
  subject.engine().Cancel(id);
  subject.engine().Cancel(id + 100);
  for (const auto& sequence : collector.Wait()) EXPECT_EQ(sequence.finish, FinishReason::kCancelled);
  EXPECT_EQ(other.Wait()[0].tokens(), AloneTokens(Ask(20, 30)));
  subject.engine().Cancel(id);
  EXPECT_EQ(subject.Run(Ask(5, 5)).tokens(), AloneTokens(Ask(5, 5)));
  EXPECT_EQ(collector.after_the_end(), 0);
  EXPECT_EQ(subject.engine().Stats().requests_cancelled, 1);
}

TEST(Engine, ManyThreadsSubmitAndCancel) {
  Subject subject;
  Engine& engine = subject.engine();
  std::atomic<int> wrong = 0, cancelled = 0;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      SplitMix random(t);
      for (int i = 0; i < 60; ++i) {
        const Request request = Ask(1 + static_cast<int32_t>(random.Below(40)),
                                    1 + static_cast<int32_t>(random.Below(20)), random.Below(3));
        const Collector collector;
        const RequestId id = engine.Submit(request, collector.callback());
        if (random.Chance(0.3)) engine.Cancel(id);
        (void)engine.Stats();
        const Collector::Sequence& got = collector.Wait()[0];
        const std::vector<TokenId> expected = AloneTokens(request), tokens = got.tokens();
        cancelled += got.finish == FinishReason::kCancelled;
        wrong += !std::equal(tokens.begin(), tokens.end(), expected.begin()) ||
                 (got.finish != FinishReason::kCancelled && tokens.size() != expected.size());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(cancelled, 0);
}

TEST(Engine, CallbacksMaySubmitAndCancel) {
  Subject subject;
  Engine& engine = subject.engine();
  const Collector first, second;
  std::atomic<RequestId> id = 0;
  bool asked = false;
  id = engine.Submit(Ask(10, 0), [&, collect = first.callback(), next = second.callback()](Chunk chunk) {
    if (!asked) engine.Submit(Ask(5, 5), next);
    asked = true;
    if (id != 0) engine.Cancel(id);
    collect(std::move(chunk));
  });
  EXPECT_EQ(second.Wait()[0].tokens(), AloneTokens(Ask(5, 5)));
  EXPECT_TRUE(first.Wait()[0].finish);
}

// Rates are printed by whoever had the last chunk.
TEST(Engine, TokensAreCountedBeforeTheyAreDelivered) {
  Subject subject;
  Engine& engine = subject.engine();
  Request request = Ask(10, 5);
  request.n = 8;
  const Collector collector(8);
  std::atomic<int64_t> delivered = 0, behind = 0;
  engine.Submit(request, [&, collect = collector.callback()](Chunk chunk) {
    delivered += static_cast<int64_t>(chunk.samples.size());
    behind += engine.Stats().generated_tokens < delivered;
    collect(std::move(chunk));
  });
  collector.Wait();
  EXPECT_EQ(delivered, 40);
  EXPECT_EQ(behind, 0);
  EXPECT_EQ(engine.Stats().generated_tokens, 40);
}

TEST(SequenceSeed, SuccessorsAreUnlikeAndTheFirstIsTheSeed) {
  std::set<uint64_t> seeds;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(SequenceSeed(seed, 0), seed);
    for (int32_t i = 0; i < 50; ++i) seeds.insert(SequenceSeed(seed, i));
  }
  EXPECT_EQ(seeds.size(), 2500u);
}

}  // namespace
}  // namespace tritogen
