// Empties the L2.
#pragma once

#include "cuda/device.h"

namespace tritogen::cuda {

// Not thread-safe. REQUIRES: the context is current.
class L2Flush {
 public:
  // Takes 1.5 × L2 of device memory, and forbids persisting lines in this context. Throws Error.
  L2Flush(const Driver& driver, const DeviceInfo& device);
  ~L2Flush();
  L2Flush(const L2Flush&) = delete;
  L2Flush& operator=(const L2Flush&) = delete;

  // Lines that persist all the same become normal ones, at once: for a GPU that is idle.
  void ResetPersisting() const;
  // Puts the flush on the stream.
  void Run(CUstream stream) const {
    Write(stream);
    Discard(stream);
  }

  // Its two halves, for bench/clock_bench.cc. Written lines take the place of what was there; then they are
  // discarded, which leaves lines that nobody has to write back. Without the second half a program pays for
  // that with up to 28% of its time; reading as much as the L2 holds elsewhere has most of it written back,
  // but not all (4 to 18% are left on an H200), and reading twice as much takes as long again as this whole
  // flush.
  void Write(CUstream stream) const;
  void Discard(CUstream stream) const;

 private:
  const Driver& driver_;
  const DeviceInfo device_;
  const DeviceMemory buffer_;
  CUmodule module_ = nullptr;
  CUfunction discard_ = nullptr;
};

}  // namespace tritogen::cuda
