// Fills the L2 with clean lines that nobody wants.
#pragma once

#include "cuda/device.h"

namespace tritogen::cuda {

// Not thread-safe. REQUIRES: the context is current.
class L2Flush {
 public:
  // Takes 2 × L2 of device memory, and forbids persisting lines in this context. Throws Error.
  L2Flush(const Driver& driver, const DeviceInfo& device);
  ~L2Flush();
  L2Flush(const L2Flush&) = delete;
  L2Flush& operator=(const L2Flush&) = delete;

  // Lines that persist all the same become normal ones, at once: for a GPU that is idle.
  void ResetPersisting() const;
  // Puts the flush on the stream.
  void Run(CUstream stream) const {
    Write(stream);
    Read(stream);
  }

  // Its two halves, for bench/clock_bench.cc. Written lines take the place of what was there; reading as much
  // once more has them written back, so that no timed program pays for it. After reading alone a program
  // of an L2's size takes up to 3% longer where the one before it wrote; after writing alone up to 28%.
  void Write(CUstream stream) const;
  void Read(CUstream stream) const;

 private:
  const Driver& driver_;
  const DeviceInfo device_;
  const DeviceMemory buffer_;
  CUmodule module_ = nullptr;
  CUfunction read_ = nullptr;
};

}  // namespace tritogen::cuda
