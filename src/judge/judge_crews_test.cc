// Two crews of judges: what the first hands over, the second replays.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "judge/test_judges.h"
#include "plan/hash.h"

namespace tritogen {
namespace {

// The first crew hands everything over whose text says so; the second one says what came, and where.
Judgement HandOver(const JudgeRequest& request, const FindVerdict&) {
  Judgement judgement = Act(request);
  if (request.candidate.text.starts_with("gpu ")) {
    judgement.handover = GpuJob{.reference = ParsePlan(SmallPlanMap()),
                                .candidate = ParsePlan(SmallPlanMap()),
                                .reference_hash = request.candidate.text.substr(4),
                                .options = request.options,
                                .confirmed = "right there",
                                .notes = {"from the first"},
                                .large = request.candidate.text == "gpu large",
                                .seconds = 2,
                                .stages = {{"record", 1.5}}};
  }
  return judgement;
}

GpuJudge::Result Replay(const GpuJob& job) {
  if (job.reference_hash == "kill") raise(SIGKILL);
  if (job.reference_hash == "hang") Sleep(1000);
  if (job.reference_hash.starts_with("group")) Sleep(0.05);  // so that there are jobs to choose from
  GpuJudge::Result result;
  result.verdict.outcome = Outcome::kPassed;
  result.verdict.reason = fmt::format("{} {} {}", getpid(), job.confirmed.value_or(""), job.notes.at(0));
  result.verdict.seed = job.options.seed;
  result.verdict.seconds = job.seconds;
  result.verdict.stages = job.stages;
  result.verdict.plan_hash = PlanHash(job.candidate);
  result.last = job.reference_hash == "last";
  if (job.reference_hash == "large") Sleep(0.02);
  static int idle_calls = 0;  // of this process
  if (job.reference_hash == "idle") result.idle = [] { return ++idle_calls < 3; };
  if (job.reference_hash == "count") result.verdict.reason = std::to_string(idle_calls);
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

TEST(TwoCrews, WhatIsNoHandOverIsItsJobsOwnEnd) {
  JudgePool pool = TwoCrews(1, 1);
  pool.Submit("bad", Ask("no handover"));
  pool.Submit("good", Ask("gpu a"));
  const auto replies = AllReplies(&pool);
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies.at("bad").outcome, "killed");
  EXPECT_EQ(replies.at("good").outcome, "passed");
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
