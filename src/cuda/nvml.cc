#include "cuda/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "cuda/statistics.h"

namespace tritogen::cuda {
namespace {

// What Tritogen uses of nvml.h, which no wheel brings along.
using NvmlDevice = void*;
constexpr int kSensorPeriod = 8;  // samples
constexpr unsigned kSmClock = 1, kMemoryClock = 2, kGpuTemperature = 0;

struct Nvml {
  int (*init)() = nullptr;
  int (*by_bus_id)(const char*, NvmlDevice*) = nullptr;
  int (*clock)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*throttle)(NvmlDevice, unsigned long long*) = nullptr;
  int (*temperature)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*power)(NvmlDevice, unsigned*) = nullptr;  // milliwatts
  std::string problem;                            // empty: usable

  Nvml() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed
    if (library == nullptr) {
      problem = "libnvidia-ml.so.1 cannot be loaded";
      return;
    }
    Find(library, "nvmlInit_v2", &init);
    Find(library, "nvmlDeviceGetHandleByPciBusId_v2", &by_bus_id);
    Find(library, "nvmlDeviceGetClockInfo", &clock);
    Find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &throttle);
    Find(library, "nvmlDeviceGetTemperature", &temperature);
    Find(library, "nvmlDeviceGetPowerUsage", &power);
    if (!problem.empty()) return;
    if (const int result = init(); result != 0) problem = fmt::format("nvmlInit gives error {}", result);
  }

  template <typename F>
  void Find(void* library, const char* name, F* function) {
    *function = reinterpret_cast<F>(dlsym(library, name));
    if (*function == nullptr) problem = fmt::format("libnvidia-ml.so.1 lacks {}", name);
  }

  static const Nvml& Get() {
    static const Nvml nvml;
    return nvml;
  }
};

constexpr std::pair<uint64_t, const char*> kThrottleNames[] = {
    {0x04, "sw_power_cap"},        {0x08, "hw_slowdown"},         {0x10, "sync_boost"},
    {0x20, "sw_thermal_slowdown"}, {0x40, "hw_thermal_slowdown"}, {0x80, "hw_power_brake_slowdown"},
};

}  // namespace

std::vector<std::string> ThrottleNames(uint64_t reasons) {
  std::vector<std::string> names;
  for (const auto& [bit, name] : kThrottleNames) {
    if (reasons & bit) names.push_back(name);
  }
  return names;
}

struct ClockSampler::Impl {
  double interval_seconds = 0;
  NvmlDevice device = nullptr;
  std::string problem;

  std::mutex mutex;  // guards the rest
  std::condition_variable changed;
  bool sampling = false, ending = false;
  std::vector<double> sm_mhz, memory_mhz;
  ClockReport report;
  std::thread thread;

  void Sample();
  void Run();
};

// REQUIRES: mutex is held. A question that this GPU does not answer leaves its field alone.
void ClockSampler::Impl::Sample() {
  const Nvml& nvml = Nvml::Get();
  unsigned value = 0;
  unsigned long long reasons = 0;
  if (nvml.clock(device, kSmClock, &value) == 0) sm_mhz.push_back(value);
  if (nvml.clock(device, kMemoryClock, &value) == 0) memory_mhz.push_back(value);
  if (nvml.throttle(device, &reasons) == 0) report.throttle_reasons |= reasons;
  // The sensors answer slowly, and a short measurement must not wait for them.
  if (report.samples++ % kSensorPeriod != 1) return;
  if (nvml.temperature(device, kGpuTemperature, &value) == 0)
    report.temperature_celsius = std::max(report.temperature_celsius, static_cast<int>(value));
  if (nvml.power(device, &value) == 0) report.power_watts = std::max(report.power_watts, value / 1e3);
}

void ClockSampler::Impl::Run() {
  std::unique_lock lock(mutex);
  while (!ending) {
    if (sampling) {
      Sample();
      changed.wait_for(lock, std::chrono::duration<double>(interval_seconds));
    } else {
      changed.wait(lock);
    }
  }
}

ClockSampler::ClockSampler(const std::string& pci_bus_id, double interval_seconds)
    : impl_(std::make_unique<Impl>()) {
  impl_->interval_seconds = interval_seconds;
  impl_->problem = Nvml::Get().problem;
  if (!impl_->problem.empty()) return;
  if (const int result = Nvml::Get().by_bus_id(pci_bus_id.c_str(), &impl_->device); result != 0) {
    impl_->problem = fmt::format("NVML does not know the GPU at {} (error {})", pci_bus_id, result);
    return;
  }
  impl_->thread = std::thread([this] { impl_->Run(); });
}

ClockSampler::~ClockSampler() {
  if (!impl_->thread.joinable()) return;
  {
    std::lock_guard lock(impl_->mutex);
    impl_->ending = true;
  }
  impl_->changed.notify_all();
  impl_->thread.join();
}

void ClockSampler::Start() {
  if (!impl_->problem.empty()) return;
  std::lock_guard lock(impl_->mutex);
  impl_->report = ClockReport();
  impl_->sm_mhz.clear();
  impl_->memory_mhz.clear();
  impl_->sampling = true;
  impl_->changed.notify_all();
}

ClockReport ClockSampler::Stop() {
  if (!impl_->problem.empty()) return {.problem = impl_->problem};
  std::lock_guard lock(impl_->mutex);
  impl_->sampling = false;
  if (impl_->report.samples == 0) impl_->Sample();
  ClockReport report = impl_->report;
  report.available = true;
  if (!impl_->sm_mhz.empty()) {
    const Summary sm = Summarize(impl_->sm_mhz);
    report.sm_mhz_median = sm.median;
    report.sm_mhz_minimum = sm.minimum;
    report.sm_mhz_maximum = sm.maximum;
  }
  if (!impl_->memory_mhz.empty()) {
    const Summary memory = Summarize(impl_->memory_mhz);
    report.memory_mhz_median = memory.median;
    report.memory_mhz_minimum = memory.minimum;
  }
  return report;
}

}  // namespace tritogen::cuda
