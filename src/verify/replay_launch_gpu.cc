#include <ATen/ATen.h>

#include "base/rounding.h"
#include "verify/replay_error.h"
#include "verify/replay_launch.h"

namespace tritogen {
namespace {

using Failure = ReplayFailure::Kind;

class GpuLaunch final : public LaunchCall {
 public:
  GpuLaunch(const Plan& plan, const LaunchStep& step, const ReplayOptions& options,
            const std::vector<Gpu::Loaded>& loaded)
      : LaunchCall(plan, step, options) {
    const Gpu::Loaded& found = loaded[variant().kernel];
    if (const auto* failure = std::get_if<cuda::CompileFailure>(&found)) {
      const bool ours = failure->reason == cuda::CompileFailure::Reason::kInfrastructure;
      FailReplay(ours ? Failure::kInfraError : Failure::kCompileError, step.line, "kernel {} ({}): {}",
                 kernel().name, cuda::ReasonName(failure->reason), failure->detail);
    }
    kernel_ = std::get<std::shared_ptr<const cuda::LoadedKernel>>(found);
    Understand();
  }

  void Call(const std::vector<at::Tensor>& slots, UndefinedMemory* undefined, double) const override {
    const Gpu& gpu = *Gpu::Current();
    auto address_of = [&](TensorId id) {
      const auto start = reinterpret_cast<uint64_t>(slots[id].storage().mutable_data());
      return start + static_cast<uint64_t>(slots[id].storage_offset() * slots[id].element_size());
    };
    // Freed when this returns: what follows on the stream comes after the launch.
    std::vector<at::Tensor> scratch;
    auto allocate = [&](int64_t bytes, int64_t alignment) {
      const auto options = at::TensorOptions().dtype(at::kByte).device(gpu.device());
      scratch.push_back(at::empty({bytes + alignment}, options));
      const auto start = reinterpret_cast<uint64_t>(scratch.back().mutable_data_ptr());
      return RoundUp(start, alignment);
    };
    try {
      cuda::LaunchKernel(*kernel_, variant(), address_of, gpu.stream(), allocate);
    } catch (const cuda::LaunchMismatch& error) {
      FailReplay(Failure::kRuntimeError, line(), "launch of {}: {}", kernel().name, error.what());
    }
  }

 private:
  std::shared_ptr<const cuda::LoadedKernel> kernel_;
};

}  // namespace

std::unique_ptr<LaunchCall> MakeGpuLaunch(const Plan& plan, const LaunchStep& step,
                                          const ReplayOptions& options,
                                          const std::vector<Gpu::Loaded>& loaded) {
  return std::make_unique<GpuLaunch>(plan, step, options, loaded);
}

}  // namespace tritogen
