// From two source texts to a Verdict: record both, look whether these Plans were judged before, make the task
// ready, verify on the tile machine. What is for a GPU is handed over to a GpuJudge, kernels compiled, and
// small tasks judged on the tile machine first. References are recorded and made ready once and kept, so that
// many candidates of one task cost little. One thread at a time.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cuda/compiler.h"
#include "judge/gpu_judge.h"
#include "judge/verdict_cache.h"
#include "record/recorder.h"
#include "verify/verifier.h"

namespace tritogen {

struct SourceFile {
  std::string text;
  std::string entry;  // class or function name
  bool is_function = false;
};

struct JudgeRequest {
  SourceFile reference, candidate;
  VerifyOptions options;
  // All candidates for this reference, where one trusted author wrote them and it: recorded in one child.
  std::vector<SourceFile> together;
};

struct Judgement {
  Verdict verdict;
  // The verdict tells what is wrong with the reference; nobody looked at the candidate.
  bool reference_failed = false;
  std::optional<Plan> plan;             // of the candidate, when it could be recorded
  std::optional<GpuJob> handover;       // then there is no verdict yet: a GpuJudge must say it
  std::vector<std::string> jail_notes;  // of this run's jail: notes that are not to be kept
  bool lost = false;  // a process that this one shares with others has ended: another one has to judge
};

// Asks for the verdict of an earlier run with this key, before the candidate is replayed; whoever answers
// keeps under it what becomes of this request.
using FindVerdict = std::function<std::optional<Verdict>(const std::string& key)>;

// The GPU that a Judge prepares jobs for, from afar.
struct GpuTarget {
  std::string name;  // and its driver's version, as verdicts depend on them
  cuda::Target target;
  cuda::KernelCompiler* compiler;       // must outlive the Judge
  std::vector<std::string> uuids = {};  // those of this kind that judge; none: the first one there is
};

class Judge {
 public:
  // `gpu`: needed for requests that say so. `cache`: what keys are made of; none: nothing is asked for. The
  // recorder must outlive the Judge.
  explicit Judge(Recorder* recorder, std::optional<GpuTarget> gpu = {},
                 const std::optional<VerdictCacheOptions>& cache = {});
  Judgement Run(const JudgeRequest& request, const FindVerdict& find);

 private:
  struct Reference {
    std::string key;
    Plan plan;
    std::string hash;                                     // of the Plan
    bool prepared = false;                                // then, for the tile machine:
    std::optional<Task> task;                             // nothing where it is too large and for a GPU
    std::optional<Verdict> failure;                       // it cannot be recorded, or cannot be made a task
    std::map<std::string, std::optional<Plan>> recorded;  // candidates by text, ahead of their requests
  };
  Reference& Find(const JudgeRequest& request);
  // Keeps the Plans of the candidates that were recorded with it.
  std::variant<Plan, RecordFailure> RecordReference(const JudgeRequest& request, Reference* reference);
  std::variant<Plan, RecordFailure> Record(const JudgeRequest& request, Reference* reference);
  void Prepare(const VerifyOptions& options, Reference* reference);
  // Of no meaning where this makes the reference fail.
  void JudgePlan(const JudgeRequest& request, const FindVerdict& find, Reference* reference,
                 Judgement* judgement);
  // `confirmed`: what the tile machine said, where it was asked.
  GpuJob HandOver(const JudgeRequest& request, const Reference& reference, const Plan& candidate,
                  const Verdict* confirmed);

  Recorder* recorder_;
  std::optional<GpuTarget> gpu_;
  const std::optional<VerdictCacheOptions> cache_;
  std::list<Reference> references_;  // most recently used first
};

}  // namespace tritogen
