// One Plan made ready for the clock: set up, its inputs in place, captured where that is possible.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cuda/graph.h"
#include "cuda/timer.h"
#include "verify/gpu.h"
#include "verify/replay.h"
#include "verify/rules.h"
#include "verify/verifier_task.h"

namespace tritogen {

// A timed call gave a wrong answer, or could not be made.
struct TimingObjection {
  Objection objection;
};

// REQUIRES: the Gpu is open; task, setting and plan outlive this.
class TimedPlan {
 public:
  // Throws TimingObjection and cuda::Error.
  TimedPlan(std::string name, const Task::Impl& task, const Setting& setting, const Plan& plan,
            const Bindings& bindings, const ReplayOptions& options);

  const std::string& name() const { return name_; }
  bool captured() const { return graph_.has_value(); }
  bool SameKernels(const TimedPlan& other) const;

  // For the clock, which must not outlive this. `check`: the answers of timed calls are compared with the
  // expected ones at random moments.
  cuda::Timed Timed(bool by_graph, bool check);

  // Throws TimingObjection when the last timed call gave a wrong answer.
  void CheckAnswer();

 private:
  bool Mutates() const;
  void CheckNowAndThen(const Deadline& since);
  void Refresh();
  void Call();
  void Capture();

  const std::string name_;
  const Task::Impl& task_;
  std::vector<const Trial*> trials_;
  Replayer replayer_;
  TensorList inputs_, called_;
  GraphMemory memory_;
  TensorList captured_;  // outputs of the graph
  std::optional<cuda::Graph> graph_;
  const TensorList* answer_ = nullptr;  // of the last call; null: none since the inputs changed
  size_t shown_ = 0;                    // the trial whose inputs are in place
  double checking_seconds_ = 0;         // of this measurement
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace tritogen
