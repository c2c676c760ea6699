#include "judge/judge_pool.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/temp_dir.h"
#include "judge/test_judges.h"
#include "plan/hash.h"
#include "plan/parse.h"
#include "plan/test_plans.h"

namespace tritogen {
namespace {

TEST(JudgePool, AnswersEveryJobOnceInTheOrderOfFinishing) {
  JudgePool pool = ActingPool(2);
  pool.Submit("slow", Ask("slow"));
  pool.Submit("first", Ask(""));
  pool.Submit("second", Ask(""));
  EXPECT_EQ(pool.unfinished(), 3);
  std::vector<std::string> order;
  while (auto reply = pool.Next(30)) order.push_back(reply->id);
  EXPECT_EQ(order, (std::vector<std::string>{"first", "second", "slow"}));
  EXPECT_EQ(pool.unfinished(), 0);
  EXPECT_FALSE(pool.Next(30).has_value()) << "returns at once when no job is left";
}

TEST(JudgePool, GivesUpAfterItsTimeAndGoesOnLater) {
  JudgePool pool = ActingPool(1);
  pool.Submit("slow", Ask("slow"));
  EXPECT_FALSE(pool.Next(0.02).has_value());
  EXPECT_EQ(pool.unfinished(), 1);
  EXPECT_EQ(pool.Next(30).value().id, "slow");
}

TEST(JudgePool, KeepsAJudgeForTheNextJob) {
  JudgePool pool = ActingPool(1);
  for (const char* id : {"1", "2", "3"}) pool.Submit(id, Ask(""));
  auto replies = AllReplies(&pool);
  EXPECT_EQ(replies.at("1").verdict["reason"], replies.at("3").verdict["reason"]);
  EXPECT_NE(replies.at("1").verdict["reason"], std::to_string(getpid()));
}

struct Death {
  const char* text;
  const char* in_reason;
};
void PrintTo(const Death& death, std::ostream* out) {
  *out << death.text;
}

class JudgePoolDeaths : public testing::TestWithParam<Death> {};

TEST_P(JudgePoolDeaths, AreTheVerdictOfTheirJobAlone) {
  for (int judges : {1, 3}) {
    JudgePool pool = ActingPool(judges);
    pool.Submit("before", Ask("slow"));
    pool.Submit("dies", Ask(GetParam().text));
    for (const char* id : {"a", "b", "c", "d"}) pool.Submit(id, Ask(""));
    auto replies = AllReplies(&pool);
    ASSERT_EQ(replies.size(), 6u);
    for (const char* id : {"before", "a", "b", "c", "d"}) EXPECT_EQ(replies.at(id).outcome, "passed") << id;
    const JudgeReply& dead = replies.at("dies");
    EXPECT_EQ(dead.outcome, "killed");
    EXPECT_EQ(dead.verdict["verdict"], "killed");
    EXPECT_EQ(dead.verdict["seed"], 7);
    EXPECT_NE(std::string(dead.verdict["reason"]).find(GetParam().in_reason), std::string::npos)
        << dead.verdict["reason"];
    pool.Submit("after", Ask(""));
    EXPECT_EQ(pool.Next(30).value().outcome, "passed");
  }
}

INSTANTIATE_TEST_SUITE_P(, JudgePoolDeaths,
                         testing::Values(Death{"abort", "signal 6"}, Death{"segv", "signal 11"},
                                         Death{"kill", "signal 9"}, Death{"exit", "exit status 3"},
                                         Death{"no frame", "no reply"}, Death{"endless frame", "no reply"},
                                         Death{"no reply", "no reply"}));

TEST(JudgePool, KillsAJudgeThatHangs) {
  JudgePool pool = ActingPool(2, /*grace_seconds=*/0.1);
  pool.Submit("hangs", Ask("hang", /*budget_seconds=*/0.2));
  pool.Submit("fine", Ask(""));
  auto replies = AllReplies(&pool);
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies.at("hangs").outcome, "timeout");
  EXPECT_EQ(replies.at("fine").outcome, "passed");
  pool.Submit("after", Ask(""));
  EXPECT_EQ(pool.Next(30).value().outcome, "passed");
}

TEST(JudgePool, TurnsAnExceptionIntoAFaultOfOurs) {
  JudgePool pool = ActingPool(1);
  pool.Submit("throws", Ask("throw"));
  const JudgeReply reply = pool.Next(30).value();
  EXPECT_EQ(reply.outcome, "infra_error");
  EXPECT_NE(std::string(reply.verdict["reason"]).find("no luck"), std::string::npos);
}

TEST(JudgePool, CancelEndsJudgesAndForgetsJobs) {
  JudgePool pool = ActingPool(1);
  pool.Submit("fine", Ask(""));
  const int pid = std::stoi(std::string(pool.Next(30).value().verdict["reason"]));
  pool.Submit("hangs", Ask("hang"));
  pool.Submit("waits", Ask(""));
  EXPECT_FALSE(pool.Next(0.02).has_value());
  ASSERT_EQ(kill(pid, 0), 0);
  pool.Cancel();
  EXPECT_EQ(pool.unfinished(), 0);
  EXPECT_EQ(kill(pid, 0), -1) << "its process is gone";
  pool.Submit("after", Ask(""));
  EXPECT_EQ(pool.Next(30).value().id, "after");
}

TEST(JudgePool, ARequestThatIsTooLongDisturbsNoOther) {
  JudgePool pool = ActingPool(1);
  pool.Submit("first", Ask("slow"));
  EXPECT_THROW(pool.Submit("long", Ask(std::string(kMaxFrameBytes, ' '))), UserError);
  pool.Submit("second", Ask(""));
  EXPECT_EQ(pool.unfinished(), 2);
  EXPECT_EQ(AllReplies(&pool).size(), 2u);
}

TEST(JudgePool, BringsThePlanOnlyWhenAsked) {
  JudgePool pool = ActingPool(1);
  pool.Submit("with", Ask(""), /*want_plan=*/true);
  pool.Submit("without", Ask(""));
  auto replies = AllReplies(&pool);
  ASSERT_TRUE(replies.at("with").plan.has_value());
  EXPECT_EQ(PlanHash(*replies.at("with").plan), PlanHash(ParsePlan(SmallPlanMap())));
  EXPECT_FALSE(replies.at("without").plan.has_value());
}

// Judges of which the first `failing` cannot be made, counted by bytes in a pipe, since each has a process of
// its own.
JudgePool LateJudges(const Pipe& failures, int failing) {
  for (int i = 0; i < failing; ++i) (void)!write(failures.write.get(), "x", 1);
  SetNonBlocking(failures.read.get());
  auto make = [fd = failures.read.get()]() -> JudgeFunction {
    char byte;
    if (read(fd, &byte, 1) == 1) throw UserError("no room for a judge");
    return Act;
  };
  return {make,          1,
          nullptr,       0,
          kGraceSeconds, [fd = failures.read.get()](bool) { return JudgeNeeds{.fds = {fd}}; }};
}

TEST(JudgePool, AJobWhoseJudgeCannotBeMadeIsTriedOnceMore) {
  const Pipe failures = MakePipe();
  JudgePool pool = LateJudges(failures, 1);
  pool.Submit("first", Ask(""));
  pool.Submit("second", Ask(""));
  const auto replies = AllReplies(&pool);
  ASSERT_EQ(replies.size(), 2u);
  for (const auto& [id, reply] : replies) EXPECT_EQ(reply.outcome, "passed") << id;
}

TEST(JudgePool, WithoutAJudgeAJobHasAVerdictThatSaysWhy) {
  const Pipe failures = MakePipe();
  JudgePool pool = LateJudges(failures, 2);
  pool.Submit("first", Ask(""));
  pool.Submit("second", Ask(""));
  const auto replies = AllReplies(&pool);
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies.at("first").outcome, "infra_error");
  EXPECT_EQ(replies.at("first").verdict["reason"], "there is no judge: no room for a judge");
  EXPECT_EQ(replies.at("second").outcome, "passed");
}

// What the caller owns must not be ended by a process that was forked from it.
TEST(JudgePool, AJudgeThatFailsLeavesItsCallersThingsAlone) {
  struct EndsWithACry {
    int fd;
    ~EndsWithACry() { (void)!write(fd, "x", 1); }
  };
  const Pipe cries = MakePipe();
  {
    const EndsWithACry mine{cries.write.get()};
    JudgePool pool([]() -> JudgeFunction { throw 1; }, 1, nullptr, 0, kGraceSeconds,  // no std::exception
                   [&](bool) { return JudgeNeeds{.fds = {cries.write.get()}}; });
    pool.Submit("job", Ask(""));
    EXPECT_EQ(AllReplies(&pool).at("job").outcome, "killed");
  }
  SetNonBlocking(cries.read.get());
  char bytes[8];
  EXPECT_EQ(read(cries.read.get(), bytes, sizeof bytes), 1);
}

TEST(JudgePool, SaysWhoseFaultItWas) {
  JudgePool pool = ActingPool(1);
  pool.Submit("bad", Ask("bad reference"));
  pool.Submit("good", Ask(""));
  auto replies = AllReplies(&pool);
  EXPECT_TRUE(replies.at("bad").reference_failed);
  EXPECT_FALSE(replies.at("good").reference_failed);
}

TEST(JudgePool, HandsTheWholeRequestOver) {
  const JudgeRequest sent{{"reference \n\xc3\xa9", "Model", false},
                          {"candidate", "relu", true},
                          {.mode = Mode::kStrict,
                           .seed = 1ull << 63,
                           .threads = 3,
                           .budget_seconds = 1.5,
                           .memory_bytes = 1 << 20}};
  auto show = [](const JudgeRequest& r) {
    return fmt::format("{} {} {} {} {} {} {} {} {} {} {}", r.reference.text, r.reference.entry,
                       r.reference.is_function, r.candidate.text, r.candidate.entry, r.candidate.is_function,
                       static_cast<int>(r.options.mode), r.options.seed, r.options.threads,
                       r.options.budget_seconds, r.options.memory_bytes);
  };
  JudgePool pool(
      [&] {
        return [&](const JudgeRequest& request, const FindVerdict&) {
          return Judgement{.verdict = {.reason = show(request)}};
        };
      },
      1);
  pool.Submit("job", sent);
  EXPECT_EQ(pool.Next(30).value().verdict["reason"], show(sent));
}

// Judges that ask for the verdict with the key that their candidate's text names; several times, where it
// says so.
Judgement AskFirst(const JudgeRequest& request, const FindVerdict& find) {
  const std::string& text = request.candidate.text;
  if (const auto found = find(text)) return {.verdict = *found};
  if (text == "asks again") find("another");
  Judgement judgement{.verdict = {.outcome = Outcome::kPassed, .reason = std::to_string(getpid())}};
  judgement.verdict.hurried = text == "hurried";
  judgement.reference_failed = text == "bad reference";
  judgement.jail_notes = {"of this run"};
  return judgement;
}

TEST(JudgePool, AloneKeepsVerdictsAndFindsThem) {
  const TempDir folder;
  const VerdictCacheOptions cache{.file = folder.path() / "verdicts.sqlite", .verifier = "test"};
  const auto judged = [&](const std::string& text) {
    JudgePool pool([] { return AskFirst; }, 1, nullptr, 0, kGraceSeconds, nullptr, 1, cache);
    pool.Submit("job", Ask(text));
    return pool.Next(30).value();
  };
  EXPECT_FALSE(judged("key").verdict.at("cached"));
  const JudgeReply found = judged("key");
  EXPECT_TRUE(found.verdict.at("cached"));
  EXPECT_EQ(found.verdict.at("notes").size(), 0u) << "what is of one run only is not kept";
  for (const char* text : {"hurried", "bad reference"}) {
    judged(text);
    EXPECT_FALSE(judged(text).verdict.at("cached")) << text;
  }
}

TEST(JudgePool, KeepsNothingUnderASecondKey) {
  const TempDir folder;
  const VerdictCacheOptions cache{.file = folder.path() / "verdicts.sqlite", .verifier = "test"};
  JudgePool pool([] { return AskFirst; }, 1, nullptr, 0, kGraceSeconds, nullptr, 1, cache);
  pool.Submit("job", Ask("asks again"));
  EXPECT_EQ(pool.Next(30).value().outcome, "killed");
  VerdictCache kept(cache);
  for (const char* key : {"asks again", "another"}) EXPECT_FALSE(kept.Find(key, "asks again"));
}

}  // namespace
}  // namespace tritogen
