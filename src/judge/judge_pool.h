// Judges in processes of their own: whatever a candidate does to the process that replays it (a crash inside
// an operator, a hang, the out-of-memory killer), the others and the caller never notice, and the candidate
// gets a Verdict that says so. The processes are forked from the caller, which must have no other threads at
// that time. Not thread-safe.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "judge/judge.h"

namespace tritogen {

struct JudgeReply {
  std::string id;
  nlohmann::json verdict;  // docs/formats/verdict.md
  std::string outcome;     // verdict["verdict"]
  bool reference_failed = false;
  std::optional<Plan> plan;
};

// What a judge does with one request. Made in the judge's own process, so that what it keeps is its own.
using JudgeFunction = std::function<Judgement(const JudgeRequest&)>;
using JudgeMaker = std::function<JudgeFunction()>;

// Beyond its own budget a job gets this long before its judge is killed: recording has limits of its own.
inline constexpr double kGraceSeconds = 90;

class JudgePool {
 public:
  // Judges of class Judge, on the GPU with a compiler. Both must outlive the pool.
  JudgePool(Recorder* recorder, int judges, cuda::KernelCompiler* compiler = nullptr,
            const std::optional<VerdictCacheOptions>& cache = {});
  JudgePool(JudgeMaker make_judge, int judges, double grace_seconds = kGraceSeconds);
  ~JudgePool();  // kills the judges
  JudgePool(const JudgePool&) = delete;

  // Takes a job; it starts when a judge is free. `want_plan`: the reply brings the candidate's Plan.
  void Submit(std::string id, const JudgeRequest& request, bool want_plan = false);
  // The next reply, in the order in which they finish. Nothing after `timeout_seconds`, or when no job is
  // left.
  std::optional<JudgeReply> Next(double timeout_seconds);
  int unfinished() const { return static_cast<int>(waiting_.size()) + busy_; }
  // Ends every running job's judge and forgets the waiting jobs.
  void Cancel();

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    std::string id;
    nlohmann::json message;
    double budget_seconds;
    uint64_t seed;
  };
  struct Process {
    int pid = -1;
    int fd = -1;
    std::optional<Job> job;
    Clock::time_point deadline;
  };

  void Start(Process* process);
  int Stop(Process* process);
  void Assign();
  JudgeReply Collect(Process* process);
  JudgeReply Bury(Process* process, Outcome outcome, const std::string& reason);

  JudgeMaker make_judge_;
  double grace_seconds_;
  std::vector<Process> processes_;
  std::deque<Job> waiting_;
  int busy_ = 0;
};

}  // namespace tritogen
