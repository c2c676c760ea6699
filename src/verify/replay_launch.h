// One launch step made ready: the kernel lowered or compiled, so that a call only packs arguments.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "device/gpu.h"
#include "plan/plan.h"
#include "verify/replay.h"
#include "verify/replay_memory.h"

namespace tritogen {

class LaunchCall {
 public:
  virtual ~LaunchCall() = default;

  // Tensors whose memory the kernel may write.
  const std::vector<TensorId>& writes() const { return writes_; }

  // Throws ReplayError: kMemoryError and kTimeout with the fault, kRuntimeError for arguments that do not fit
  // the kernel. On a GPU the launch is only put on the stream, and faults are heard of later.
  virtual void Call(const std::vector<at::Tensor>& slots, UndefinedMemory* undefined,
                    double seconds_left) const = 0;

 protected:
  LaunchCall(const Plan& plan, const LaunchStep& step, const ReplayOptions& options);

  const Plan& plan() const { return *plan_; }
  const LaunchVariant& variant() const { return *variant_; }
  const Kernel& kernel() const { return plan_->kernels[variant_->kernel]; }
  int line() const { return line_; }
  // The kernel as the tile machine understands it; fills writes(). Throws ReplayError (kCompileError) for
  // what it does not understand (foreign bitcode): on a GPU too, since nobody could say what such a kernel
  // does. Assembly is refused even where Triton wrote it (gdc_launch_dependents): a Plan's launches must not
  // overlap.
  std::shared_ptr<const tile::Executable> Understand();

 private:
  void FindWrites(const std::vector<bool>& written);  // by parameter of the TTIR function

  const Plan* plan_;
  const LaunchVariant* variant_;
  int line_;
  std::vector<TensorId> writes_;
};

// On the tile machine. `names` by storage id, for messages; they and `options` must outlive the call. Throws
// ReplayError (kCompileError) when the kernel cannot be lowered.
std::unique_ptr<LaunchCall> MakeTileLaunch(const Plan& plan, const LaunchStep& step,
                                           const ReplayOptions& options,
                                           const std::vector<std::string>& names);

// On the GPU. `loaded`: by kernel of the Plan. Throws ReplayError (kCompileError) when the compiler gave the
// kernel up.
std::unique_ptr<LaunchCall> MakeGpuLaunch(const Plan& plan, const LaunchStep& step,
                                          const ReplayOptions& options,
                                          const std::vector<Gpu::Loaded>& loaded);

}  // namespace tritogen
