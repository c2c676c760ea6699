// Ends of all kinds: the engine's own, a broken runner, NaN; and new weights in between.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/error.h"
#include "engine/engine_test_util.h"

namespace tritogen {
namespace {

TEST(Engine, ItsEndCancelsWhatRuns) {
  Collector running(2), waiting;
  {
    RunnerLimits limits = kLimits;
    limits.slots = 1;
    Engine engine(std::make_unique<FakeRunner>(limits), nullptr, {});
    Request request = Ask(10, 0);
    request.n = 2;
    engine.Submit(request, running.callback());
    engine.Submit(Ask(10, 0), waiting.callback());
  }
  for (const auto& sequence : running.Wait()) EXPECT_TRUE(sequence.finish);
  EXPECT_TRUE(waiting.Wait()[0].finish == FinishReason::kCancelled ||
              waiting.Wait()[0].finish == FinishReason::kLength);
}

TEST(Engine, ABrokenRunnerEndsAllAndIsNamed) {
  for (const bool in_submit : {true, false}) {
    auto runner = std::make_unique<FakeRunner>(kLimits);
    int steps = 0;
    auto fail = [&steps] {
      if (++steps == 7) throw std::runtime_error("the device is lost");
    };
    if (in_submit)
      runner->on_submit = [fail](const Step&) { fail(); };
    else
      runner->on_wait = fail;
    Engine engine(std::move(runner), nullptr, {});
    std::deque<Collector> collectors;
    std::string error;
    try {
      for (int i = 0; i < 20; ++i) {
        collectors.emplace_back();
        engine.Submit(Ask(10, 50), collectors.back().callback());
      }
    } catch (const std::runtime_error&) {
      collectors.pop_back();  // it had failed already
    }
    for (const Collector& collector : collectors) {
      EXPECT_EQ(collector.Wait()[0].finish, FinishReason::kError);
      EXPECT_NE(collector.Wait()[0].error.find("the device is lost"), std::string::npos);
    }
    try {
      engine.Submit(Ask(10, 5), [](Chunk) { FAIL(); });
    } catch (const UserError&) {
      FAIL() << "it is not the user's fault";
    } catch (const std::runtime_error& thrown) {
      error = thrown.what();
    }
    EXPECT_NE(error.find("the device is lost"), std::string::npos);
    EXPECT_THROW(engine.UpdateWeights([] {}), std::runtime_error);
    const auto failed = static_cast<int64_t>(collectors.size());
    while (engine.Stats().requests_failed < failed)
      std::this_thread::yield();  // counted behind the last chunk
    EXPECT_EQ(engine.Stats().requests_failed, failed);
  }
}

TEST(Engine, NanEndsOneSequenceOnly) {
  const Request request = Ask(10, 20), other = Ask(11, 20, 5);
  const std::vector<TokenId> alone = AloneTokens(request);
  const std::vector<TokenId> others = AloneTokens(other);
  ASSERT_EQ(std::ranges::count(others, alone[6]), 0);
  Subject subject;
  subject.runner->nan_token = alone[6];
  Collector collector;
  subject.engine().Submit(other, collector.callback());
  const Collector::Sequence& damaged = subject.Run(request);
  EXPECT_EQ(damaged.finish, FinishReason::kError);
  EXPECT_NE(damaged.error.find("NaN"), std::string::npos);
  EXPECT_EQ(damaged.samples.size(), 6u);
  EXPECT_EQ(collector.Wait()[0].tokens(), others);
}

TEST(Engine, NewWeightsCountFromTheNextPromptOn) {
  Subject subject;
  const Request request = Ask(30, 10);
  EXPECT_EQ(subject.Run(request).tokens(), AloneTokens(request));
  Collector running;
  subject.engine().Submit(Ask(9, 0, 7), running.callback());
  running.WaitForTokens(3);
  int written = 0;
  const std::thread::id here = std::this_thread::get_id();
  subject.engine().UpdateWeights([&] { written += std::this_thread::get_id() == here; });
  EXPECT_EQ(written, 1);
  EXPECT_EQ(subject.Run(request).tokens(), AloneTokens(request, 0, 1)) << "no old blocks";
  EXPECT_EQ(running.Wait()[0].finish, FinishReason::kLength);
  EXPECT_THROW(subject.engine().UpdateWeights([] { throw UserError("no such file"); }), UserError);
  EXPECT_EQ(subject.Run(request).tokens(), AloneTokens(request, 0, 2)) << "some numbers may be new";
}

TEST(Engine, NewWeightsInTheMiddleOfPromptsAndGroups) {
  RunnerLimits limits = kLimits;
  limits.prefill_tokens = 5;
  limits.blocks = 60;
  for (int round = 0; round < 30; ++round) {
    Subject subject(limits);
    std::deque<Collector> collectors;
    for (uint64_t i = 0; i < 5; ++i) {
      Request request = Ask(60, 20, i % 2);
      request.n = 1 + static_cast<int32_t>(i);
      collectors.emplace_back(request.n);
      subject.engine().Submit(request, collectors.back().callback());
    }
    for (int i = 0; i < 3; ++i) subject.engine().UpdateWeights([] {});
    for (const Collector& collector : collectors)
      for (const auto& sequence : collector.Wait())
        ASSERT_EQ(sequence.finish, FinishReason::kLength) << sequence.error;
    ASSERT_EQ(subject.Run(Ask(60, 20, 1)).tokens(), AloneTokens(Ask(60, 20, 1), 0, 3));
  }
}

}  // namespace
}  // namespace tritogen
