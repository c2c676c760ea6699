// One GPU as the driver describes it, and the process's context on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cuda/driver.h"
#include "cuda/target.h"

namespace tritogen::cuda {

// Nothing here is a constant of one card: each field is asked of the driver.
struct DeviceInfo {
  int ordinal = 0;
  std::string name;        // "NVIDIA H200"
  std::string uuid;        // "GPU-8a1f…"
  std::string pci_bus_id;  // "0000:1b:00.0", by which NVML knows the device
  int capability = 0;      // 10 × major + minor
  int warp_size = 32;
  int sm_count = 0;
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t max_persisting_l2_bytes = 0;
  int64_t shared_per_block_optin = 0;
  int64_t shared_per_sm = 0;
  int max_threads_per_block = 0;
  int64_t max_grid[3] = {0, 0, 0};
  bool cooperative_launch = false;
  double sm_clock_hz = 0;      // highest
  double memory_clock_hz = 0;  // highest
  int memory_bus_bits = 0;
  double memory_bandwidth = 0;  // bytes/s at the highest memory clock, data on both edges
  int driver_version = 0;       // 1000 × major + 10 × minor, of CUDA

  Target target() const { return {capability, warp_size, shared_per_block_optin}; }
};

// Throws Error for an ordinal that does not exist.
DeviceInfo ReadDevice(const Driver& driver, int ordinal = 0);

// Holds the device's primary context (the one that libtorch uses) and makes it current in the calling thread.
// Other threads call MakeCurrent. Throws Error.
class PrimaryContext {
 public:
  PrimaryContext(const Driver& driver, int ordinal);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  void MakeCurrent() const;

 private:
  const Driver& driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

// A stream that does not wait for the default stream.
class Stream {
 public:
  explicit Stream(const Driver& driver);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  CUstream get() const { return stream_; }

 private:
  const Driver& driver_;
  CUstream stream_ = nullptr;
};

// Device memory.
class DeviceMemory {
 public:
  DeviceMemory(const Driver& driver, size_t bytes);  // throws Error
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  CUdeviceptr address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  const Driver& driver_;
  const size_t bytes_;
  CUdeviceptr address_ = 0;
};

// The watchdog: waits until all work on the stream is done. False when the time is up: something hangs, and
// since no launched kernel can be stopped, the process has to end (_exit: a normal exit would wait for the
// GPU). Throws Error for what the work ended with, which is how an illegal address is heard of.
bool SynchronizeWithin(const Driver& driver, CUstream stream, double seconds);
// The same for the work before a recorded event.
bool SynchronizeWithin(const Driver& driver, CUevent event, double seconds);

}  // namespace tritogen::cuda
