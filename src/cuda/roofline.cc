#include "cuda/roofline.h"

#include <algorithm>

#include "base/error.h"

namespace tritogen::cuda {
namespace {

// Dense operations (a multiply-add is two) per clock and SM of the fastest card of each architecture, with
// half precision accumulation where that is faster: NVIDIA's white papers (A100, GA102, H100, Ada, B200, RTX
// Blackwell), peak rate ÷ SMs ÷ boost clock. A byte may hold two 4-bit numbers, which the last two multiply
// at twice the rate.
struct Rates {
  int capability;
  double fp64, tf32, half, bytes;
};
constexpr Rates kRates[] = {
    {80, 128, 1024, 2048, 4096},    // A100: 19.5, 156, 312 TFLOP/s, 624 TOP/s
    {86, 4, 512, 1024, 2048},       // A6000: 77, 155, 310
    {89, 4, 512, 1024, 2048},       // RTX 6000 Ada: 182, 364, 728
    {90, 256, 2048, 4096, 8192},    // H100, H200: 67, 495, 989, 1979
    {100, 256, 4096, 8192, 32768},  // B200: 40, 1125, 2250, 9000
    {120, 4, 512, 1024, 4096},      // RTX PRO 6000
};

const Rates* FindRates(int capability) {
  for (const Rates& rates : kRates) {
    if (rates.capability == capability) return &rates;
  }
  return nullptr;
}

}  // namespace

double FlopsPerClockPerSm(int capability, Dtype dtype) {
  const Rates* rates = FindRates(capability);
  if (rates == nullptr) return 0;
  switch (dtype) {
    case Dtype::kFloat64:
      return rates->fp64;
    case Dtype::kFloat32:
      return rates->tf32;
    case Dtype::kFloat16:
    case Dtype::kBFloat16:
      return rates->half;
    default:
      return rates->bytes;  // wider integers are slower; a floor may be low
  }
}

double RooflineFloor(double flops, double bytes, Dtype dtype, const DeviceInfo& device) {
  TRITOGEN_CHECK(flops >= 0 && bytes >= 0);
  const double memory_seconds = device.memory_bandwidth > 0 ? bytes / device.memory_bandwidth : 0;
  const double rate = FlopsPerClockPerSm(device.capability, dtype) * device.sm_count * device.sm_clock_hz;
  const double compute_seconds = rate > 0 ? flops / rate : 0;
  return std::max(memory_seconds, compute_seconds);
}

}  // namespace tritogen::cuda
