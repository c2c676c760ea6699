// The second half of judging on a GPU: two Plans that were recorded, compiled and, where they are small,
// judged on the tile machine elsewhere, are replayed and timed. Its process has a CUDA context; those that
// record have none.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cuda/compiler.h"
#include "judge/verdict_cache.h"
#include "verify/verifier.h"

namespace tritogen {

// What a Judge hands over.
struct GpuJob {
  Plan reference, candidate;
  std::string
      reference_hash;  // of the Plan; jobs of the same one go to the same process where that is possible
  VerifyOptions options;
  std::optional<std::string> confirmed;  // what the tile machine said of the candidate, which it let pass
  bool hurried = false;                  // … and time ran short there
  std::vector<std::string> notes;        // to be added
  std::vector<std::string> jail_notes;   // of this run's jail, and not to be kept
  std::string cache_key, source;         // empty key: the verdict is not kept
  double seconds = 0;                    // spent so far
  std::map<std::string, double> stages;  // of these
};

// As bytes, for the way between processes.
std::string Encode(const GpuJob& job);
GpuJob DecodeGpuJob(std::string_view bytes);  // throws FormatError; every byte is hostile

// A Verdict of what is wrong with a reference.
Verdict ReferenceFailure(Outcome outcome, const std::string& reason, const VerifyOptions& options);

// One thread at a time.
class GpuJudge {
 public:
  // Opens the first GPU of the machine, for good. `many`: candidates are to be judged, so that it pays to
  // make ready what most of them need. `compiler` must outlive the GpuJudge. Throws UserError when there is
  // no usable GPU.
  GpuJudge(cuda::KernelCompiler* compiler, const std::optional<VerdictCacheOptions>& cache, bool many);

  struct Result {
    Verdict verdict;
    bool reference_failed = false;
    bool last = false;  // this process has lost its GPU: another one must judge what follows
  };
  Result Run(GpuJob job);

 private:
  struct Reference {
    std::string key;
    std::optional<Task> task;  // exactly one of these
    std::optional<Verdict> failure;
  };
  Reference& Find(GpuJob* job);
  void Forget();  // tasks that take too much

  cuda::KernelCompiler* compiler_;
  std::optional<VerdictCache> cache_;
  std::list<Reference> references_;  // most recently used first
};

}  // namespace tritogen
