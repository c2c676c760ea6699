#include "judge/judge_pool.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/fd.h"
#include "plan/hash.h"
#include "plan/parse.h"
#include "plan/test_plans.h"

namespace tritogen {
namespace {

void Sleep(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// Writes into every socket this process has, as a judge whose memory a candidate has overwritten might.
void WriteEverywhere(std::string_view bytes) {
  for (int fd = 3; fd < 64; ++fd) (void)!write(fd, bytes.data(), bytes.size());
}

// A judge that does what the candidate's text says. Passes when that is nothing; the reason is its process
// id.
Judgement Act(const JudgeRequest& request) {
  const std::string& text = request.candidate.text;
  if (text == "abort") abort();
  if (text == "segv") raise(SIGSEGV);
  if (text == "kill") raise(SIGKILL);
  if (text == "exit") _exit(3);
  if (text == "no frame") WriteEverywhere(std::string("\x05\0\0\0hello", 9));
  if (text == "endless frame") WriteEverywhere("\xff\xff\xff\xff");
  if (text == "no reply") WriteEverywhere(std::string("\x05\0\0\0\x81\xa2ok\xc3", 9));
  if (text == "throw") throw std::runtime_error("no luck");
  if (text == "hang") Sleep(1000);
  if (text == "slow") Sleep(0.5);
  Judgement judgement;
  judgement.verdict.outcome = Outcome::kPassed;
  judgement.verdict.reason = std::to_string(getpid());
  judgement.reference_failed = text == "bad reference";
  judgement.plan = ParsePlan(SmallPlanMap());
  return judgement;
}

JudgePool ActingPool(int judges, double grace_seconds = 60) {
  return {[] { return Act; }, judges, grace_seconds};
}

JudgeRequest Ask(const std::string& text, double budget_seconds = 60) {
  return {{}, {.text = text}, {.seed = 7, .budget_seconds = budget_seconds}};
}

std::map<std::string, JudgeReply> AllReplies(JudgePool* pool) {
  std::map<std::string, JudgeReply> replies;
  while (pool->unfinished() > 0) {
    auto reply = pool->Next(30);
    if (!reply || replies.count(reply->id)) break;  // a test of the count fails
    std::string id = reply->id;
    replies.emplace(std::move(id), std::move(*reply));
  }
  return replies;
}

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
  return {make, 1};
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
    JudgePool pool([]() -> JudgeFunction { throw 1; }, 1);  // no std::exception
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
        return [&](const JudgeRequest& request) { return Judgement{.verdict = {.reason = show(request)}}; };
      },
      1);
  pool.Submit("job", sent);
  EXPECT_EQ(pool.Next(30).value().verdict["reason"], show(sent));
}

// The first crew hands everything over whose text says so; the second one says what came, and where.
Judgement HandOver(const JudgeRequest& request) {
  Judgement judgement = Act(request);
  if (request.candidate.text.starts_with("gpu ")) {
    judgement.handover = GpuJob{.reference = ParsePlan(SmallPlanMap()),
                                .candidate = ParsePlan(SmallPlanMap()),
                                .reference_hash = request.candidate.text.substr(4),
                                .options = request.options,
                                .confirmed = "right there",
                                .notes = {"from the first"},
                                .jail_notes = {},
                                .cache_key = "",
                                .source = request.candidate.text,
                                .large = request.candidate.text == "gpu large",
                                .seconds = 2,
                                .stages = {{"record", 1.5}}};
  }
  return judgement;
}

GpuJudge::Result Replay(const GpuJob& job) {
  if (job.source == "gpu kill") raise(SIGKILL);
  if (job.source == "gpu hang") Sleep(1000);
  if (job.source.starts_with("gpu group")) Sleep(0.05);  // so that there are jobs to choose from
  GpuJudge::Result result;
  result.verdict.outcome = Outcome::kPassed;
  result.verdict.reason = fmt::format("{} {} {}", getpid(), job.confirmed.value_or(""), job.notes.at(0));
  result.verdict.seed = job.options.seed;
  result.verdict.seconds = job.seconds;
  result.verdict.stages = job.stages;
  result.verdict.plan_hash = PlanHash(job.candidate);
  result.last = job.source == "gpu last";
  if (job.source == "gpu large") Sleep(0.02);
  static int idle_calls = 0;  // of this process
  if (job.source == "gpu idle") result.idle = [] { return ++idle_calls < 3; };
  if (job.source == "gpu count") result.verdict.reason = std::to_string(idle_calls);
  return result;
}

std::set<std::string> ProcessesOf(const std::map<std::string, JudgeReply>& replies) {
  std::set<std::string> processes;
  for (const auto& [id, reply] : replies) {
    const std::string reason = reply.verdict.at("reason");
    processes.insert(reason.substr(0, reason.find(' ')));
  }
  return processes;
}

JudgePool TwoCrews(int judges, int gpu_judges, double grace_seconds = 60, int gpus = 1) {
  return {
      [] { return HandOver; }, judges, [](int) { return Replay; }, gpu_judges, grace_seconds, nullptr, gpus};
}

TEST(TwoCrews, WhatIsHandedOverArrivesWholeAndTheRestDoesNot) {
  JudgePool pool = TwoCrews(2, 1);
  pool.Submit("here", Ask(""));
  pool.Submit("there", Ask("gpu a"), /*want_plan=*/true);
  const auto replies = AllReplies(&pool);
  ASSERT_EQ(replies.size(), 2u);
  const nlohmann::json& verdict = replies.at("there").verdict;
  EXPECT_TRUE(verdict.at("reason").get<std::string>().ends_with(" right there from the first"));
  EXPECT_EQ(verdict.at("seed"), 7);
  EXPECT_EQ(verdict.at("seconds"), 2);
  EXPECT_EQ(verdict.at("stages").at("record"), 1.5);
  ASSERT_TRUE(replies.at("there").plan);
  EXPECT_EQ(PlanHash(*replies.at("there").plan), verdict.at("plan_hash"));
  EXPECT_EQ(replies.at("here").outcome, "passed");
}

TEST(TwoCrews, ADeathInTheSecondIsItsJobsOwn) {
  JudgePool pool = TwoCrews(2, 1, /*grace_seconds=*/0.5);
  pool.Submit("kill", Ask("gpu kill"));
  pool.Submit("hang", Ask("gpu hang", 0.5));
  pool.Submit("last", Ask("gpu last"));
  for (int i = 0; i < 12; ++i) pool.Submit(std::to_string(i), Ask("gpu a"));
  const auto replies = AllReplies(&pool);
  ASSERT_EQ(replies.size(), 15u);
  EXPECT_EQ(replies.at("kill").outcome, "killed");
  EXPECT_EQ(replies.at("hang").outcome, "timeout");
  for (const auto& [id, reply] : replies) {
    const bool dies = id == "kill" || id == "hang";
    EXPECT_EQ(reply.outcome == "passed", !dies) << id;
  }
}

TEST(TwoCrews, JobsOfOneReferenceStayWithOneProcess) {
  JudgePool pool = TwoCrews(1, 2);  // one hands over, so that the two groups arrive in turns
  for (int i = 0; i < 20; ++i)
    pool.Submit(std::to_string(i), Ask(i % 2 == 0 ? "gpu group 0" : "gpu group 1"));
  std::map<int, std::set<std::string>> processes;
  for (const auto& [id, reply] : AllReplies(&pool)) {
    const std::string reason = reply.verdict.at("reason");
    processes[std::stoi(id) % 2].insert(reason.substr(0, reason.find(' ')));
  }
  EXPECT_LE(processes[0].size() + processes[1].size(), 3u);  // of four: only the first ones may go astray
}

TEST(TwoCrews, LargeJobsOfOneReferenceAreOneProcesssAlone) {
  JudgePool pool = TwoCrews(3, 2);
  for (int i = 0; i < 12; ++i) pool.Submit(std::to_string(i), Ask("gpu large"));
  EXPECT_EQ(ProcessesOf(AllReplies(&pool)).size(), 1u);
}

// One process keeps memory for them on each GPU; who shares it with that one leaves them alone.
TEST(TwoCrews, LargeJobsOfOneReferenceGoToAllGpus) {
  JudgePool pool = TwoCrews(3, 4, 60, /*gpus=*/2);
  for (int i = 0; i < 24; ++i) pool.Submit(std::to_string(i), Ask("gpu large"));
  EXPECT_EQ(ProcessesOf(AllReplies(&pool)).size(), 2u);
}

TEST(TwoCrews, EachGpuJudgeKnowsItsNumber) {
  JudgePool pool([] { return HandOver; }, 4,
                 [](int number) {
                   return [number](const GpuJob& job) {
                     Sleep(0.05);
                     GpuJudge::Result result = Replay(job);
                     result.verdict.reason = std::to_string(number);
                     return result;
                   };
                 },
                 4);
  for (int i = 0; i < 24; ++i) pool.Submit(std::to_string(i), Ask("gpu a"));
  std::set<std::string> numbers;
  for (const auto& [id, reply] : AllReplies(&pool)) numbers.insert(reply.verdict.at("reason"));
  EXPECT_EQ(numbers, (std::set<std::string>{"0", "1", "2", "3"}));
}

TEST(TwoCrews, WhoHasNothingToDoIsCalledUntilItHasHadEnough) {
  JudgePool pool = TwoCrews(1, 1);
  auto count = [&] {
    pool.Submit("count", Ask("gpu count"));
    return pool.Next(30).value().verdict.at("reason").get<std::string>();
  };
  EXPECT_EQ(count(), "0");
  pool.Submit("idle", Ask("gpu idle"));
  pool.Next(30);
  Sleep(0.5);
  EXPECT_EQ(count(), "3");
}

}  // namespace
}  // namespace tritogen
