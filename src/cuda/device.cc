#include "cuda/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

namespace tritogen::cuda {
namespace {

int Attribute(const Driver& driver, CUdevice_attribute attribute, CUdevice device) {
  int value = 0;
  Check(driver.cuDeviceGetAttribute(&value, attribute, device), "read a device attribute");
  return value;
}

std::string UuidText(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

}  // namespace

DeviceInfo ReadDevice(const Driver& driver, int ordinal) {
  CUdevice device = 0;
  Check(driver.cuDeviceGet(&device, ordinal), fmt::format("get GPU {}", ordinal));
  auto get = [&](CUdevice_attribute attribute) { return Attribute(driver, attribute, device); };
  DeviceInfo info;
  info.ordinal = ordinal;
  char text[256] = "";
  Check(driver.cuDeviceGetName(text, sizeof text, device), "get the GPU's name");
  info.name = text;
  CUuuid uuid;
  Check(driver.cuDeviceGetUuid(&uuid, device), "get the GPU's UUID");
  info.uuid = UuidText(uuid);
  Check(driver.cuDeviceGetPCIBusId(text, sizeof text, device), "get the GPU's bus id");
  info.pci_bus_id = text;
  size_t memory = 0;
  Check(driver.cuDeviceTotalMem(&memory, device), "get the GPU's memory size");
  info.memory_bytes = static_cast<int64_t>(memory);
  info.capability = 10 * get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                    get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  info.warp_size = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  info.sm_count = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.l2_bytes = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  info.max_persisting_l2_bytes = get(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE);
  info.shared_per_block_optin = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  info.shared_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  info.max_threads_per_block = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  info.max_grid[0] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  info.max_grid[1] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  info.max_grid[2] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  info.cooperative_launch = get(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) != 0;
  info.sm_clock_hz = 1e3 * get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);  // the driver counts kHz
  info.memory_clock_hz = 1e3 * get(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  info.memory_bus_bits = get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  info.memory_bandwidth = 2 * info.memory_clock_hz * info.memory_bus_bits / 8;
  Check(driver.cuDriverGetVersion(&info.driver_version), "get the driver's version");
  return info;
}

PrimaryContext::PrimaryContext(const Driver& driver, int ordinal) : driver_(driver) {
  Check(driver.cuDeviceGet(&device_, ordinal), fmt::format("get GPU {}", ordinal));
  Check(driver.cuDevicePrimaryCtxRetain(&context_, device_), "make a context");
  MakeCurrent();
}

PrimaryContext::~PrimaryContext() {
  driver_.cuDevicePrimaryCtxRelease(device_);
}

void PrimaryContext::MakeCurrent() const {
  Check(driver_.cuCtxSetCurrent(context_), "make the context current");
}

Stream::Stream(const Driver& driver) : driver_(driver) {
  Check(driver.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "make a stream");
}

Stream::~Stream() {
  driver_.cuStreamDestroy(stream_);
}

DeviceMemory::DeviceMemory(const Driver& driver, size_t bytes) : driver_(driver), bytes_(bytes) {
  Check(driver.cuMemAlloc(&address_, std::max<size_t>(bytes, 1)), fmt::format("allocate {} bytes", bytes));
}

DeviceMemory::~DeviceMemory() {
  driver_.cuMemFree(address_);
}

namespace {

bool WaitWithin(double seconds, const std::function<CUresult()>& query) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto limit = std::chrono::duration<double>(seconds);
  // Most waits are short, and a sleep takes 50 µs at least.
  constexpr std::chrono::microseconds kSpin{500}, kNap{200};
  while (true) {
    const CUresult result = query();
    if (result == CUDA_SUCCESS) return true;
    if (result != CUDA_ERROR_NOT_READY) throw Error(result, "wait for the GPU");
    const auto waited = Clock::now() - start;
    if (waited > limit) return false;
    if (waited > kSpin) std::this_thread::sleep_for(kNap);
  }
}

}  // namespace

bool SynchronizeWithin(const Driver& driver, CUstream stream, double seconds) {
  return WaitWithin(seconds, [&] { return driver.cuStreamQuery(stream); });
}

bool SynchronizeWithin(const Driver& driver, CUevent event, double seconds) {
  return WaitWithin(seconds, [&] { return driver.cuEventQuery(event); });
}

}  // namespace tritogen::cuda
