// libdevice: float → integer in each rounding mode (saturating, NaN is 0), and integer → float to nearest.
#include <cmath>

#include "tile/lanes/formats.h"
#include "tile/lanes/libdevice.h"

namespace tritogen::tile::lanes {
namespace {

template <class To, class From>
void AddToInteger(ExternRegistry& registry, const std::string& prefix) {
  Add(registry, prefix + "_rn", [](From x) { return common::SaturatingCast<To>(std::rint(x)); });
  Add(registry, prefix + "_rz", [](From x) { return common::SaturatingCast<To>(x); });
  Add(registry, prefix + "_rd", [](From x) { return common::SaturatingCast<To>(std::floor(x)); });
  Add(registry, prefix + "_ru", [](From x) { return common::SaturatingCast<To>(std::ceil(x)); });
}

}  // namespace

void AddConversionExterns(ExternRegistry& registry) {
  AddToInteger<int32_t, float>(registry, "__nv_float2int");
  AddToInteger<uint32_t, float>(registry, "__nv_float2uint");
  AddToInteger<int64_t, float>(registry, "__nv_float2ll");
  AddToInteger<uint64_t, float>(registry, "__nv_float2ull");
  AddToInteger<int32_t, double>(registry, "__nv_double2int");
  AddToInteger<uint32_t, double>(registry, "__nv_double2uint");
  AddToInteger<int64_t, double>(registry, "__nv_double2ll");
  AddToInteger<uint64_t, double>(registry, "__nv_double2ull");
  AddBoth(registry, "__nv_llrint", [](double x) { return common::SaturatingCast<int64_t>(std::rint(x)); });
  AddBoth(registry, "__nv_llround", [](double x) { return common::SaturatingCast<int64_t>(std::round(x)); });
  Add(registry, "__nv_int2double_rn", [](int32_t x) { return static_cast<double>(x); });
  Add(registry, "__nv_uint2double_rn", [](uint32_t x) { return static_cast<double>(x); });
}

}  // namespace tritogen::tile::lanes
