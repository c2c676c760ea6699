// One launch step made ready: the kernel lowered, its arguments checked against the tensors' places.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "tile/tile.h"
#include "verify/replay.h"
#include "verify/replay_memory.h"

namespace tritogen {

class LaunchCall {
 public:
  // `names` by storage id, for messages. Throws ReplayError (kCompileError) when the kernel cannot be
  // lowered.
  LaunchCall(const Plan& plan, const LaunchStep& step, const ReplayOptions& options,
             const std::vector<std::string>& names);

  // Tensors whose memory the kernel may write.
  const std::vector<TensorId>& writes() const { return writes_; }

  // Throws ReplayError: kMemoryError and kTimeout with the fault, kRuntimeError for arguments that do not fit
  // the kernel.
  void Call(const std::vector<at::Tensor>& slots, UndefinedMemory* undefined, double seconds_left) const;

 private:
  const Plan* plan_;
  const LaunchStep* step_;
  const LaunchVariant* variant_;
  const ReplayOptions* options_;
  const std::vector<std::string>* names_;
  std::shared_ptr<const tile::Executable> kernel_;
  std::vector<TensorId> writes_;
};

}  // namespace tritogen
