// From two source texts to a Verdict: record both, look whether these Plans were judged before, make the task
// ready, verify. References are recorded and made ready once and kept, so that many candidates of one task
// cost little. One thread at a time.
#pragma once

#include <list>
#include <optional>
#include <string>

#include "cuda/compiler.h"
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
};

struct Judgement {
  Verdict verdict;
  bool reference_failed =
      false;  // the verdict tells what is wrong with the reference; nobody looked at the candidate
  std::optional<Plan> plan;  // of the candidate, when it could be recorded
  bool last = false;         // this process has lost its GPU: another one must judge what follows
};

class Judge {
 public:
  // With a compiler the Judge opens the first GPU of the machine, for good, and runs requests there that say
  // so. Both must outlive the Judge. Throws UserError when there is no usable GPU.
  explicit Judge(Recorder* recorder, cuda::KernelCompiler* compiler = nullptr,
                 const std::optional<VerdictCacheOptions>& cache = {});
  Judgement Run(const JudgeRequest& request);

 private:
  struct Reference {
    std::string key;
    Plan plan;                       // until it is made a task
    std::string hash;                // of the Plan
    std::optional<Task> task;        // exactly one of these, once it was made ready
    std::optional<Verdict> failure;  // it cannot be recorded, or cannot be made a task
    std::optional<Task> on_cpu;      // requests for the GPU: the task again, for the tile machine
  };
  Reference& Find(const JudgeRequest& request);
  void Forget(bool on_gpu);  // references that take too much
  // Of no meaning where this makes the reference fail.
  Verdict JudgePlan(const JudgeRequest& request, const Plan& candidate, Reference* reference);
  void Prepare(const VerifyOptions& options, Reference* reference);
  Verdict Replay(const Reference& reference, const Plan& candidate, const VerifyOptions& options);

  Recorder* recorder_;
  std::optional<VerdictCache> cache_;
  std::list<Reference> references_;  // most recently used first
};

}  // namespace tritogen
