// Before a candidate is called wrong by little. What noise the reference has in a row is asked of a run or
// two, and of many rows there are always some in which all of them happened to be right: a row of a clamped
// output, say, with one element that is not 0. So an output that is over a budget by less than kLuck times is
// compared once more, with the noise of kMoreRuns further runs. So is one that stands behind a function which
// jumps or has flat parts (edges.h), with the range of what it may be there.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "verify/verifier_task.h"

namespace tritogen {

// Half precision under an fp32 contract is over by more (docs/verdicts.md).
constexpr double kLuck = 32;
// With so many, none of a million rows is likely to be as lucky as that.
constexpr int kMoreRuns = 6;
// So many halves of their last places inputs are moved for other errors of the eager program: far enough for
// sums of some hundred to be rounded otherwise, near enough for errors to be as large.
constexpr double kTimesApart = 256;

// What one trial expects, with the noise of more runs. They are the same whoever asks, and when.
class SecondLook {
 public:
  // The task outlives this. `bindings`: the reference's weights in the trial's setting.
  SecondLook(const Task::Impl& task, std::shared_ptr<const Bindings> bindings)
      : task_(task), bindings_(std::move(bindings)) {}

  // By output; null where the reference cannot be run so often: memory or time is short. Made at the first
  // call. `trial` is always the one that this belongs to.
  const std::vector<OutputCheck>* Checks(const Trial& trial);

 private:
  bool Make(const Trial& trial);
  // Counts the noise of more runs for these outputs.
  bool Widen(const Trial& trial, const Deadline& deadline, const std::vector<size_t>& outputs_of);
  // And what the eager program is off by near these inputs, as far as it runs there.
  void WidenByEager(const Trial& trial, const Deadline& deadline, const std::vector<size_t>& outputs_of);
  static void AllowEverywhere(const at::Tensor& error, uint64_t seed, Expectation* expected);

  const Task::Impl& task_;
  const std::shared_ptr<const Bindings> bindings_;
  bool tried_ = false, made_ = false;
  std::vector<OutputCheck> checks_;
};

// Known comparisons of `outputs` with what the trial expects: where one is over its budget by little, and
// none by more, it is replaced by that of a second look. Waits then. Throws what libtorch throws, but for
// want of memory.
void LookAgain(const Task::Impl& task, const Trial& trial, std::span<const at::Tensor> outputs,
               std::span<PendingComparison> comparisons);

// One output of a call, second look included; waits.
Comparison LookTwice(const Task::Impl& task, const Trial& trial, size_t output, const at::Tensor& got);

// True where more runs may say something else of a comparison that is not ok.
bool MayBeLuck(const Task::Impl& task, const Trial& trial, size_t output, const Comparison& comparison);

// True where a second look may.
bool DeservesSecondLook(const Task::Impl& task, const Trial& trial, size_t output,
                        const Comparison& comparison);

// All outputs of a call, by output, second look included; waits.
std::vector<Comparison> CompareAll(const Task::Impl& task, const Trial& trial,
                                   std::span<const at::Tensor> outputs);

}  // namespace tritogen
