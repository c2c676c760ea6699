// Clocks, throttling, temperature and power while something is measured, from NVML on a thread of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tritogen::cuda {

struct ClockReport {
  bool available = false;  // false: no NVML, and `problem` says why; all else is zero
  std::string problem;
  int samples = 0;
  double sm_mhz_median = 0, sm_mhz_minimum = 0, sm_mhz_maximum = 0;
  double memory_mhz_median = 0, memory_mhz_minimum = 0;
  uint64_t throttle_reasons = 0;  // all that occurred, as NVML numbers them (nvmlClocksEventReasons)
  int temperature_celsius = 0;    // highest; zero in measurements of one sample
  double power_watts = 0;         // likewise
};

// Names of the reasons that slow a GPU down ("sw_power_cap", "hw_thermal_slowdown", …); idle and application
// clocks are none.
std::vector<std::string> ThrottleNames(uint64_t reasons);

class ClockSampler {
 public:
  explicit ClockSampler(const std::string& pci_bus_id, double interval_seconds = 0.02);
  ~ClockSampler();

  void Start();        // a new report
  ClockReport Stop();  // at least one sample is taken between Start and Stop

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tritogen::cuda
