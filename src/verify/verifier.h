// The verifier: a reference and a candidate in, a Verdict out. Both are Plans replayed with real data (ATen
// through libtorch, Triton launches on the tile machine), or all of it on the GPU, where what passed is
// timed, too. Nothing here runs anybody's Python.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "base/fp32_precision.h"
#include "plan/plan.h"
#include "record/recorder.h"
#include "verify/verdict.h"

namespace tritogen {

enum class Mode {
  kStrict,
  kHybrid
};  // strict: all compute in Triton; hybrid: library calls allowed and counted

struct VerifyOptions {
  Mode mode = Mode::kHybrid;
  Fp32Precision fp32_precision = Fp32Precision::kIeee;  // the contract: of products in float32
  uint64_t seed = 0;            // secret seed of inputs, weights and program order; 0: drawn by the caller
  int threads = 0;              // of the tile machine and ATen; 0: all cores, one where the task is small
  double budget_seconds = 120;  // for one candidate
  int64_t memory_bytes = 0;     // 0: three quarters of what is available
  bool on_gpu = false;          // Gpu::Current(), which must be open
  bool spare_memory = false;    // of a task: few trials, as for one that is large
  // Of a task: none of its trials is kept, they are made anew of their seeds for each call. So it is where
  // memory is too short for two of them, whatever this says. Spares memory, too.
  bool keep_no_trials = false;
  // Of a task: its candidates have been judged on the tile machine, completely. What is left to see on a GPU
  // is that a few trials are right there, too, and the time.
  bool confirm = false;
  // Of a task: only its first trials are made ready, the rest when a candidate has passed the first of them.
  bool rest_on_demand = false;
  int timing_samples = 100;     // of each program at the least; 0: nothing is timed. GPU only
  double timing_seconds = 1;    // more samples are taken in this time where medians are not known well enough
  bool against_itself = false;  // timed beside a second replay of its own Plan, too: how far the clock errs
};

// A reference made ready: Plan, work count, per-trial inputs, expected values in fp64, the eager program's
// own error, negative controls. Computed once, used for many candidates, by one thread at a time: what is
// rarely needed is made on demand.
class Task {
 public:
  struct Impl;
  explicit Task(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const Plan& plan() const;
  int64_t bytes() const;  // that its trials keep, on the GPU where they run there
  // Some candidate has made it hold more than all tasks of this reference do.
  bool grown() const;
  // A candidate has changed what the reference is replayed with: nobody may be judged by this task any more.
  bool spoiled() const;
  const Impl& impl() const { return *impl_; }
  // Makes the rest, where it is missing. Throws what libtorch throws. False: the task is spoiled.
  bool Complete() const;

 private:
  std::shared_ptr<Impl> impl_;
};

// Failure to make a task (the reference itself does not run, needs too much memory, is not deterministic, …).
struct TaskFailure {
  Outcome outcome;
  std::string reason;
};
std::variant<Task, TaskFailure> PrepareTask(Plan reference, const VerifyOptions& options);

// Judges a recorded candidate.
Verdict Verify(const Task& task, const Plan& candidate, const VerifyOptions& options);
// The Verdict of a candidate that could not be recorded.
Verdict VerdictOf(const RecordFailure& failure, const VerifyOptions& options);

// What every verdict under these options says, about a candidate of which nothing else is known yet.
Verdict VerdictUnder(const VerifyOptions& options);

}  // namespace tritogen
