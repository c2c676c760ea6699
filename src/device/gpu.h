// The GPU of this process: libtorch's CUDA half, loaded at run time, and the driver on one context and one
// stream, so that ATen steps and Triton launches of a Plan follow each other.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cuda/compiler.h"
#include "cuda/device.h"
#include "cuda/launch.h"
#include "cuda/timer.h"
#include "device/guard_bands.h"
#include "device/turn_lock.h"
#include "plan/plan.h"

namespace tritogen {

// One of the allocator's private pools.
struct GraphPool {
  std::pair<uint64_t, uint64_t> id;
  int uses = 0;            // how often the allocator was asked to allocate from it
  int64_t bytes = 0;       // of the device's memory that it has
  int64_t idle_bytes = 0;  // of these, what no tensor had when its last graph was captured
};

class Gpu {
 public:
  // Loads libtorch's CUDA half, without touching a device: processes forked later find it there. Throws
  // UserError when this libtorch has none.
  static void LoadLibraries();

  // Opens the device; once in a process, and never before a fork. `compiler` must outlive the Gpu.
  // `verifies`: the verifier's kernels will be needed, and are compiled here, all at once. Throws UserError
  // when there is no driver, no such device, or libtorch cannot use it.
  static Gpu& Open(int ordinal, cuda::KernelCompiler* compiler, bool verifies = true);
  static Gpu* Current() { return current_.get(); }  // null before Open

  // Makes context and stream those of the calling thread, which is not the one that opened it.
  void EnterThread() const;

  const cuda::Driver& driver() const { return *driver_; }
  const cuda::DeviceInfo& info() const { return info_; }
  at::Device device() const { return {at::kCUDA, static_cast<c10::DeviceIndex>(info_.ordinal)}; }
  CUstream stream() const { return timer_->stream(); }
  cuda::Timer& timer() { return *timer_; }
  GuardBands& guards() { return guards_; }

  // One result a kernel, compiled (or found) and loaded. Throws cuda::Error when the context is gone.
  using Loaded = std::variant<std::shared_ptr<const cuda::LoadedKernel>, cuda::CompileFailure>;
  std::vector<Loaded> Load(const std::vector<Kernel>& kernels);

  // One of Tritogen's own kernels, loaded. Throws InternalError when it cannot be compiled.
  const cuda::LoadedKernel& Builtin(const std::string& name);

  // Compiles only, so that Load finds all of them; may run while others have the GPU.
  void Precompile(const std::vector<Kernel>& kernels,
                  const cuda::KernelCompiler::OnCompiled& on_compiled = {}) {
    compiler_->Compile(kernels, info_.target(), on_compiled);
  }

  // Waits for the stream. Throws cuda::Error with what the work ended with, cuda::Hang when it does not end.
  void Synchronize(double seconds);
  // Something hangs: what Synchronize says of itself, and who waits in another way has to say.
  void GiveUp() { hangs_ = true; }
  // True after an error that kills the context, or a hang: this process can do nothing more on the GPU.
  bool lost() const;
  // What this process can still get: free memory of the device, and what its allocator keeps for later. What
  // graphs keep for their next launch is not among it.
  int64_t FreeBytes() const;
  // More memory than a process may keep from the others who use this GPU.
  bool HoldsMuch() const;
  // Others hold so much of the memory that it may be their doing that a program finds too little.
  bool IsCrowded() const;
  // Waits while others do, so many seconds at the most: who lost the GPU ends its turn before its process has
  // ended, and much memory takes the driver a second. In a turn nobody else has much who is alive.
  void AwaitMemory(double seconds) const;
  // Gives memory that nothing uses back to the device, when it is much or others leave little.
  void TrimMemory();
  // For who goes on in the same turn: gives back what captured graphs have used, which nothing else can use,
  // and all that nothing uses where little is left for the driver itself (code, graphs).
  void TidyMemory();
  // From now on memory that is free in one large piece is given out for what has its size only. It would be
  // cut up by what is made next, and who needs it again would find it in parts: whether a program runs would
  // hang on what ran before it. REQUIRES: no large piece was taken yet.
  static constexpr int64_t kLargePiece = int64_t{1} << 30;  // bytes, and more
  void KeepLargePiecesWhole();
  // What the context itself says, for an error that libtorch reported in its own words. Throws cuda::Error.
  void Probe();

 private:
  friend class GraphMemory;
  Gpu(const cuda::Driver& driver, int ordinal, cuda::KernelCompiler* compiler);
  void ReleasePools();

  static std::unique_ptr<Gpu> current_;

  const cuda::Driver* driver_;
  cuda::DeviceInfo info_;
  cuda::PrimaryContext context_;
  cuda::KernelCompiler* compiler_;
  std::unique_ptr<cuda::Timer> timer_;
  GuardBands guards_;
  std::map<std::string, std::shared_ptr<const cuda::LoadedKernel>> loaded_;   // by content key
  std::map<std::string, std::shared_ptr<const cuda::LoadedKernel>> builtin_;  // by name
  std::vector<GraphPool> idle_pools_;
  int64_t graphs_keep_ = 0;  // bytes that nobody uses in all pools
  bool hangs_ = false;
};

// The GPU to itself, among the processes of this machine that ask for turns: contexts only take turns on it,
// and two replays side by side would switch more often than they gain. At its end a turn gives memory that
// nothing uses back to the device when it is much. worker/gpu_turn.py is the same protocol in Python: who
// wants the lock alone holds the gate while waiting, so that nobody who shares it slips in before.
class GpuTurn {
 public:
  explicit GpuTurn(Gpu* gpu);  // waits; throws InternalError when there is nowhere to keep locks
  ~GpuTurn();
  bool SomebodyWaits() const noexcept;
  GpuTurn(const GpuTurn&) = delete;
  GpuTurn& operator=(const GpuTurn&) = delete;

 private:
  Gpu* gpu_;
  TurnLock lock_;  // let go last
};

// Memory for the allocations of one captured graph, which stay where they are as long as this lives. Later
// graphs of the process use it again.
class GraphMemory {
 public:
  GraphMemory();
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  // While `body` runs, allocations on the stream come from here.
  void Allocating(Gpu* gpu, const std::function<void()>& body);

 private:
  GraphPool pool_;
};

}  // namespace tritogen
