// Executes the phases of one Plan over one table of tensors. Replayer (replay.h) is its public face.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "plan/lifetimes.h"
#include "plan/plan.h"
#include "verify/aten_call.h"
#include "verify/aten_random.h"
#include "verify/replay.h"
#include "verify/replay_launch.h"
#include "verify/replay_memory.h"
#include "verify/replay_state.h"

namespace tritogen {

class ReplayEngine {
 public:
  // Looks up operators and lowers kernels; what cannot be made ready fails when its step is reached.
  ReplayEngine(const Plan& plan, const ReplayOptions& options);

  // Starts the clock of a public call and seeds its random numbers.
  void Start(uint64_t seed);
  // Puts a tensor from outside into its slot, in the recorded layout (copied only when the layouts differ).
  // Throws ReplayError.
  void Place(TensorId id, const at::Tensor& tensor, const std::string& what);
  // Runs all steps; `after_step(index)` is called behind each. Throws ReplayError.
  void Execute(Phase phase, const std::function<void(int)>& after_step = nullptr);

  double SecondsLeft() const;

  const at::Tensor& slot(TensorId id) const { return slots_[id]; }
  const std::vector<at::Tensor>& slots() const { return slots_; }
  void DropAll();
  // Drops what one call put into slots; what set-up left stays.
  void DropCall();

  // Makes the memory behind ReplayOptions::forgotten undefined, and gives other values to what is `redrawn`.
  void Forget();

  UndefinedMemory& undefined() { return undefined_; }
  StateGuard& state() { return state_; }

 private:
  struct MadeReady {
    const Step* step;
    std::variant<ReplayFailure, AtenCall, at::Tensor, std::unique_ptr<LaunchCall>>
        action;                    // at::Tensor: a constant's value
    std::vector<bool> in_place;    // ATen: for each result, whether it is one of the arguments
    std::vector<TensorId> dying;   // not needed after this step
    std::vector<TensorId> unread;  // of a call: results that nothing reads, which may have another shape
  };

  std::vector<MadeReady> MakeReady(Phase phase) const;
  MadeReady MakeReady(const Step& step) const;
  std::unique_ptr<LaunchCall> MakeLaunch(const LaunchStep& step) const;
  at::Tensor Constant(const ConstantStep& step) const;
  at::ScalarType TypeOf(TensorId id) const;

  void ExecuteStep(MadeReady& ready);
  void CallAten(const AtenStep& step, const MadeReady& ready, const AtenCall& call);
  // The call with equal values of its first argument made unequal: ReplayOptions::order_of_equals.
  std::vector<at::Tensor> CallOrdered(const AtenStep& step, const AtenCall& call);
  // The call with what ReplayOptions::probes adds to its arguments.
  std::vector<at::Tensor> CallProbed(const AtenStep& step, const AtenCall& call);
  // The call with its factors cut: ReplayOptions::factors.
  std::vector<at::Tensor> CallCut(const AtenStep& step, const AtenCall& call);
  std::vector<at::Tensor> AttendCut(TensorId value, const AtenCall& call);
  // Moves what a cast gave: ReplayOptions::moves_casts.
  void MoveCast(const AtenStep& step, at::Tensor* result);
  // What empty and its like give on a GPU: undefined memory between guard bands.
  at::Tensor Fresh(TensorId id) const;
  void CheckReads(const AtenStep& step);
  // The tensor as the Plan says it is: dtype and sizes must agree, other strides are copied into the recorded
  // ones.
  at::Tensor Conform(at::Tensor tensor, TensorId id, const std::string& what, int line,
                     bool from_outside) const;
  at::Tensor InRecordedLayout(const at::Tensor& tensor, TensorId id) const;
  void Store(TensorId id, at::Tensor tensor, const std::string& what, int line);

  const Plan& plan_;
  const ReplayOptions options_;
  const ReplayTarget target_;
  std::vector<Gpu::Loaded> loaded_;  // by kernel; empty on the CPU
  std::vector<std::string> names_;   // of storages, for messages
  std::array<std::vector<MadeReady>, 3> phases_;
  std::vector<TensorId> call_tensors_;    // that a call is given or makes
  std::vector<StorageId> call_storages_;  // the same of storages
  std::vector<at::Tensor> slots_;         // by tensor id
  std::vector<const c10::StorageImpl*>
      storages_;  // by storage id: where its first tensor was put; null: nowhere yet
  ReplayRandom random_;
  uint64_t cuts_ = 0;   // factors that were cut at random so far
  uint64_t casts_ = 0;  // that were moved in this run so far
  uint64_t cast_seed_ = 0;
  uint64_t redraws_ = 0;  // of what is redrawn
  UndefinedMemory undefined_;
  StateGuard state_;
  std::chrono::steady_clock::time_point start_;
};

// "input 0", "parameter gemm.weight", "output 1", "torch.empty at line 31", by storage id.
std::vector<std::string> StorageNames(const Plan& plan);

}  // namespace tritogen
