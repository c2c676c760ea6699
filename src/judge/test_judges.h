// Judges for tests, which do what a candidate's text says.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "base/frame.h"
#include "judge/judge_pool.h"
#include "plan/parse.h"
#include "plan/test_plans.h"

namespace tritogen {

inline void Sleep(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// Writes into every socket this process has, as a judge whose memory a candidate has overwritten might.
inline void WriteEverywhere(std::string_view bytes) {
  for (int fd = 3; fd < 64; ++fd) (void)!write(fd, bytes.data(), bytes.size());
}

// A judge that does what the candidate's text says. Passes when that is nothing; the reason is its process
// id.
inline Judgement Act(const JudgeRequest& request, const FindVerdict& = {}) {
  const std::string& text = request.candidate.text;
  if (text == "abort") abort();
  if (text == "segv") raise(SIGSEGV);
  if (text == "kill") raise(SIGKILL);
  if (text == "exit") _exit(3);
  if (text == "no frame") WriteEverywhere(std::string("\x05\0\0\0hello", 9));
  if (text == "endless frame") WriteEverywhere("\xff\xff\xff\xff");
  if (text == "no reply") WriteEverywhere(std::string("\x05\0\0\0\x81\xa2ok\xc3", 9));
  if (text == "no handover") {
    const nlohmann::json reply = {{"handover", nlohmann::json::object()}, {"last", false}};
    WriteEverywhere(EncodeFrame(reply));
  }
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

// A judge that leaves everything to one of the second crew, with the text as a note.
inline Judgement HandOverAll(const JudgeRequest& request, const FindVerdict&) {
  Judgement judgement;
  judgement.handover = GpuJob{.reference = ParsePlan(SmallPlanMap()),
                              .candidate = ParsePlan(SmallPlanMap()),
                              .reference_hash = "one",
                              .options = request.options,
                              .confirmed = {},
                              .notes = {request.candidate.text},
                              .stages = {}};
  return judgement;
}

inline JudgePool ActingPool(int judges, double grace_seconds = 60) {
  return {[] { return Act; }, judges, grace_seconds};
}

inline JudgeRequest Ask(const std::string& text, double budget_seconds = 60) {
  return {{}, {.text = text}, {.seed = 7, .budget_seconds = budget_seconds}};
}

inline std::map<std::string, JudgeReply> AllReplies(JudgePool* pool) {
  std::map<std::string, JudgeReply> replies;
  while (pool->unfinished() > 0) {
    auto reply = pool->Next(30);
    if (!reply || replies.count(reply->id)) break;  // a test of the count fails
    std::string id = reply->id;
    replies.emplace(std::move(id), std::move(*reply));
  }
  return replies;
}

}  // namespace tritogen
