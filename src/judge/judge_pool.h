// Judges in processes of their own: whatever a candidate does to the process that replays it (a crash inside
// an operator, a hang, the out-of-memory killer), the others and the caller never notice, and the candidate
// gets a Verdict that says so. Jobs for a GPU go through two crews: many processes record and compile, a few
// with a CUDA context each replay, since contexts only take turns on a GPU. The processes are forked from the
// caller, which must have no other threads at that time, but for those that keep the workers: they stand
// still meanwhile (JudgeNeeds::held). Not thread-safe.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "judge/judge_process.h"

namespace tritogen {

struct JudgeReply {
  std::string id;
  nlohmann::json verdict;  // docs/formats/verdict.md
  std::string outcome;     // verdict["verdict"]
  bool reference_failed = false;
  std::optional<Plan> plan;
};

// Whether the outcome may have been the machine's fault: then another try is worth it.
inline bool MayBeTheMachine(const JudgeReply& reply) {
  return !reply.reference_failed &&
         (reply.outcome == "timeout" || reply.outcome == "killed" || reply.outcome == "infra_error");
}

// Beyond its own budget a job gets this long before its judge is killed: recording has limits of its own.
inline constexpr double kGraceSeconds = 90;
inline constexpr int kGpuJudges = 2;  // of a GPU, at most: while one has it, another makes its job ready

class JudgePool {
 public:
  using BeforeFork = std::function<JudgeNeeds(bool on_gpu)>;

  // Judges of class Judge, and of class GpuJudge where there are GPUs. The recorder must outlive the pool.
  // `cache`: the pool alone has it open, so that no judge can write what other judges find.
  JudgePool(Recorder* recorder, int judges, const std::optional<GpuTarget>& gpu = {},
            const std::optional<VerdictCacheOptions>& cache = {});
  JudgePool(JudgeMaker make_judge, int judges, double grace_seconds = kGraceSeconds);
  // A judge that cannot be made gives its first job back for another one to try; the second says why.
  // `before_fork`: makes ready what judges of that kind share, and says what they need of it. GPU judge n
  // uses GPU n modulo `gpus`.
  JudgePool(JudgeMaker make_judge, int judges, GpuJudgeMaker make_gpu_judge, int gpu_judges,
            double grace_seconds = kGraceSeconds, BeforeFork before_fork = nullptr, int gpus = 1,
            std::optional<VerdictCacheOptions> cache = {});
  ~JudgePool();  // Cancel
  JudgePool(const JudgePool&) = delete;

  // GPU judges begin to make their contexts, which takes long and needs no recorder. Next sees to it, too.
  void Begin();
  // Takes a job; it starts when a judge is free. `want_plan`: the reply brings the candidate's Plan. Throws
  // UserError where the request is larger than a frame.
  void Submit(std::string id, const JudgeRequest& request, bool want_plan = false);
  // The next reply, in the order in which they finish. Nothing after `timeout_seconds`, or when no job is
  // left.
  std::optional<JudgeReply> Next(double timeout_seconds);
  int unfinished() const;
  // Ends all judges and forgets all jobs. Waits, if not for long, for GPU judges that keep something of the
  // GPU to give it back.
  void Cancel();

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    std::string id;
    std::string frame;  // for its judge
    double budget_seconds;
    uint64_t seed;
    Fp32Precision fp32_precision;
    std::string group;               // jobs that share work: those of one reference
    bool large;                      // best done by who had the last of the group
    std::string source;              // of the candidate
    nlohmann::json plan;             // of the candidate, for the reply; null: nobody wants it
    bool again = false;              // a judge has given it back
    std::string cache_key;           // its judge has asked for it
    bool found = false;              // … and was told a verdict
    std::vector<std::string> notes;  // for the reply, and not to be kept
  };
  struct Process {
    int pid = -1;
    UniqueFd fd;
    std::optional<Job> job;
    std::string group;  // of its last job
    Clock::time_point deadline;
  };
  // The life of a forked process: does not return.
  using Live = std::function<void(int number, int fd, const JudgeNeeds& needs)>;
  struct Crew {
    Live live;
    std::vector<Process> processes;
    std::deque<Job> waiting;
    int busy = 0;
  };

  VerdictCache& Cache();
  void Start(Crew* crew, Process* process);
  void LetGo();
  int Stop(Crew* crew, Process* process);
  void Assign(Crew* crew);
  std::deque<Job>::iterator Choose(Crew* crew, const Process& process);
  bool ShareGpu(const Crew& crew, const Process& a, const Process& b) const;
  // Nothing when the job goes on in the second crew.
  std::optional<JudgeReply> Collect(Crew* crew, Process* process);
  void Answer(const std::string& key, Process* process);
  void Keep(const Job& job, const nlohmann::json& message, JudgeReply* reply);
  JudgeReply Bury(Crew* crew, Process* process, Outcome outcome, const std::string& reason);

  double grace_seconds_;
  BeforeFork before_fork_;
  int gpus_;
  std::optional<VerdictCacheOptions> cache_options_;
  std::optional<VerdictCache> cache_;  // never open across a fork: SQLite's connections do not survive one
  Crew first_, second_;
};

}  // namespace tritogen
