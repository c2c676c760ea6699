// The second half of judging on a GPU: two Plans that were recorded, compiled and, where they are small,
// judged on the tile machine elsewhere, are replayed and timed. Its process has a CUDA context; those that
// record have none.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/compiler.h"
#include "verify/verifier.h"

namespace tritogen {

class GpuTurn;

// What a Judge hands over.
struct GpuJob {
  Plan reference, candidate;
  std::string
      reference_hash;  // of the Plan; jobs of the same one go to the same process where that is possible
  VerifyOptions options;
  std::optional<std::string> confirmed;  // what the tile machine said of the candidate, which it let pass
  bool hurried = false;                  // … and time ran short there
  std::vector<std::string> notes;        // to be added
  bool large = false;  // for the pool: a process that had one of these keeps memory for the next
  double seconds = 0;  // spent so far
  std::map<std::string, double> stages;  // of these
};

// As bytes, for the way between processes.
std::string Encode(const GpuJob& job);
GpuJob DecodeGpuJob(std::string_view bytes);  // throws FormatError; every byte is hostile

// A Verdict of what is wrong with a reference.
Verdict ReferenceFailure(Outcome outcome, const std::string& reason, const VerifyOptions& options);

// Each job has a turn on the GPU, at whose end much memory and large references go. While nobody else wants
// the turn, all of these are kept for the next job, if that has the same reference; but what does not pass
// with something kept is judged anew without. One thread at a time.
class GpuJudge {
 public:
  // Opens the first GPU of the machine, for good. `many`: candidates are to be judged, so that it pays to
  // make ready what most of them need. `compiler` must outlive the GpuJudge. Throws UserError when there is
  // no usable GPU, or not enough of its memory.
  GpuJudge(cuda::KernelCompiler* compiler, bool many);
  ~GpuJudge();  // gives up what it keeps

  struct Result {
    Verdict verdict;
    bool reference_failed = false;
    bool last = false;  // this process has lost its GPU or the compiler: another must judge what follows
    // To be called every millisecond until the next job is there, or it gives false; empty: not at all. Does
    // not throw.
    std::function<bool()> idle;
  };
  Result Run(GpuJob job);

 private:
  struct Reference {
    std::string key;
    std::optional<Task> task;  // exactly one of these
    std::optional<Verdict> failure;
  };
  std::vector<cuda::CompileResult> ReadKernels(const GpuJob& job);
  Result RunInTurn(GpuJob* job);
  Verdict Judge(GpuJob* job, Result* result);
  static void AddNotes(const GpuJob& job, Verdict* verdict);
  bool Stands(const Verdict& verdict) const;
  static bool MayHaveRunShort(const Verdict& verdict);
  void JudgeSparing(GpuJob* job, Result* result);
  Reference& Find(GpuJob* job);
  void Forget();                                    // tasks that take too much together
  static bool IsLarge(const Reference& reference);  // too large for others to work beside it
  bool TakeTurn(const GpuJob& job);                 // true: it is the last job's
  void KeepOrEndTurn(const GpuJob& job, Result* result);
  bool KeepsTurn() noexcept;  // false: there is none, or not any more
  void EndTurn() noexcept;

  cuda::KernelCompiler* compiler_;
  std::list<Reference> references_;  // most recently used first
  std::unique_ptr<GpuTurn> turn_;    // of this job, or kept from the last one
  std::chrono::steady_clock::time_point kept_since_;
};

}  // namespace tritogen
