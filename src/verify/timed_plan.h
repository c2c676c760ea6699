// One Plan made ready for the clock: set up, its inputs in place, captured where that is possible.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cuda/graph.h"
#include "cuda/timer.h"
#include "device/gpu.h"
#include "verify/replay.h"
#include "verify/rules.h"
#include "verify/verifier_task.h"

namespace tritogen {

// A timed call gave a wrong answer, or could not be made.
struct TimingObjection {
  Objection objection;
};

// The stage of answers that wait in the host's memory for their check.
inline constexpr const char* kAnswersWait = "timing: answers put aside";

// What a timed call answered, and to what.
struct TimedAnswer {
  const Trial* trial;
  TensorList outputs;  // on any device
};

// Throws TimingObjection when it is wrong.
void CheckTimedAnswer(const Task::Impl& task, const TimedAnswer& answer);

// Inputs of timed calls. Programs that are compared with each other have the same ones, at the same
// addresses: where a buffer lies in memory is worth 1% of a program's time.
class TimedInputs {
 public:
  TimedInputs(const Task::Impl& task, const Setting& setting);

  const TensorList& tensors() const { return tensors_; }
  const Trial& shown() const { return *trials_[shown_]; }  // whose values they have
  int version() const { return version_; }                 // another one when these changed
  void Refresh();                                          // other values in the same places

 private:
  std::vector<const Trial*> trials_;
  TensorList tensors_;
  size_t shown_ = 0;
  int version_ = 0;
  std::minstd_rand random_{std::random_device{}()};
};

// REQUIRES: the Gpu is open; task and plan outlive this.
class TimedPlan {
 public:
  // Throws TimingObjection and cuda::Error.
  TimedPlan(std::string name, const Task::Impl& task, std::shared_ptr<TimedInputs> inputs, const Plan& plan,
            const Bindings& bindings, const ReplayOptions& options);

  const std::string& name() const { return name_; }
  bool captured() const { return graph_.has_value(); }
  bool SameKernels(const TimedPlan& other) const;

  // For the clock, which must not outlive this. `check`: the answers of timed calls are compared with the
  // expected ones at random moments.
  cuda::Timed Timed(bool by_graph, bool check);

  // The last call was one on the inputs as they are.
  bool answered() const { return answer_ != nullptr && answers_ == inputs_->version(); }
  // Throws TimingObjection when that one gave a wrong answer. Where there is no room for what is
  // expected, beside inputs and outputs of what is timed, it is put aside.
  void CheckAnswer();
  // Those that were put aside, for CheckTimedAnswer when the programs are gone.
  std::vector<TimedAnswer> TakeAnswers() { return std::move(put_aside_); }

 private:
  void PutAside();
  void CheckNowAndThen(const Deadline& since);
  void Refresh();
  void Call();
  void Answer(const TensorList* answer);
  void Capture();

  const std::string name_;
  const Task::Impl& task_;
  const bool starts_anew_;  // each call: inputs or state that decide are not what they were behind the last
  const std::shared_ptr<TimedInputs> inputs_;
  Replayer replayer_;
  TensorList called_;
  GraphMemory memory_;
  TensorList captured_;  // outputs of the graph
  std::optional<cuda::Graph> graph_;
  const TensorList* answer_ = nullptr;  // of the last call; null: none
  int answers_ = 0;                     // version of the inputs that it is for
  double checking_seconds_ = 0;         // of this measurement
  std::vector<TimedAnswer> put_aside_;  // in the host's memory
  size_t moments_ = 0;                  // at which an answer might have been put aside
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace tritogen
