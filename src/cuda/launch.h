// A cubin in the current context, and its launches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "cuda/arguments.h"
#include "cuda/compiled_kernel.h"
#include "cuda/device.h"
#include "plan/plan.h"

namespace tritogen::cuda {

// A kernel loaded into the context that was current when it was made. Immutable; launches are thread-safe.
class LoadedKernel {
 public:
  // Throws Error when the driver refuses the cubin, LaunchMismatch when the device lacks what the kernel
  // needs (threads, shared memory) or the driver counts other parameters than the compiler did.
  LoadedKernel(const Driver& driver, const DeviceInfo& device, std::shared_ptr<const CompiledKernel> kernel);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  const CompiledKernel& compiled() const { return *kernel_; }
  const Driver& driver() const { return driver_; }
  const DeviceInfo& device() const { return device_; }
  CUfunction function() const { return function_; }
  int registers() const { return registers_; }  // per thread

 private:
  void Prepare();

  const Driver& driver_;
  const DeviceInfo device_;
  const std::shared_ptr<const CompiledKernel> kernel_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  int registers_ = 0;
};

// Device memory that stays valid until the launch is done (in a capture: as long as the graph). Its contents
// are the allocator's business; Triton promises none. Called only for kernels that need scratch memory.
using AllocateScratch = std::function<uint64_t(int64_t bytes, int64_t alignment)>;

// Grid, block and launch attributes as Triton's launcher chooses them. Pure. `config` points at `attributes`.
struct LaunchShape {
  LaunchShape(const CompiledKernel& kernel, const std::array<int64_t, 3>& grid, const DeviceInfo& device);
  LaunchShape(const LaunchShape&) = delete;
  LaunchShape& operator=(const LaunchShape&) = delete;

  bool empty = false;  // some dimension is zero: nothing to launch
  CUlaunchConfig config{};
  CUlaunchAttribute attributes[4] = {};

 private:
  CUlaunchAttribute& Add(CUlaunchAttributeID id);
};

// Puts one launch on the stream; `address_of` is asked for each tensor. Throws LaunchMismatch before anything
// happened, or Error. An empty grid launches nothing.
void LaunchKernel(const LoadedKernel& kernel, const LaunchVariant& variant, const AddressOf& address_of,
                  CUstream stream, const AllocateScratch& allocate_scratch);

}  // namespace tritogen::cuda
