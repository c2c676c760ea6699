// libdevice: arithmetic and conversions that name their rounding mode. The mode is set once per array; this
// file is compiled with -frounding-math, so that nothing is computed before the mode is set or after it is
// put back.
#include <cfenv>
#include <cmath>

#include "tile/lanes/libdevice.h"

namespace tritogen::tile::lanes {
namespace {

class RoundingScope {
 public:
  explicit RoundingScope(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
  ~RoundingScope() { std::fesetround(before_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  int before_;
};

template <class Function, int kMode>
void CallRounded(const void* const* operands, void* out, size_t n) {
  const RoundingScope scope(kMode);
  ExternLoop<Function>::Call(operands, out, n);
}

template <class Function, int kMode>
void AddMode(ExternRegistry& registry, const std::string& symbol) {
  ExternFn entry = ExternLoop<Function>::Entry();
  entry.call = &CallRounded<Function, kMode>;
  registry[symbol] = entry;
}

template <class Function>
void AddModes(ExternRegistry& registry, const std::string& prefix, Function) {
  AddMode<Function, FE_TONEAREST>(registry, prefix + "_rn");
  AddMode<Function, FE_TOWARDZERO>(registry, prefix + "_rz");
  AddMode<Function, FE_DOWNWARD>(registry, prefix + "_rd");
  AddMode<Function, FE_UPWARD>(registry, prefix + "_ru");
}

template <class T>
void AddArithmetic(ExternRegistry& registry, const std::string& prefix, const std::string& fma) {
  AddModes(registry, prefix + "add", [](T x, T y) { return x + y; });
  AddModes(registry, prefix + "sub", [](T x, T y) { return x - y; });
  AddModes(registry, prefix + "mul", [](T x, T y) { return x * y; });
  AddModes(registry, prefix + "div", [](T x, T y) { return x / y; });
  AddModes(registry, prefix + "rcp", [](T x) { return 1 / x; });
  AddModes(registry, prefix + "sqrt", [](T x) { return std::sqrt(x); });
  AddModes(registry, fma, [](T x, T y, T z) { return std::fma(x, y, z); });
}

}  // namespace

void AddRoundedExterns(ExternRegistry& registry) {
  AddArithmetic<float>(registry, "__nv_f", "__nv_fmaf");
  AddArithmetic<double>(registry, "__nv_d", "__nv_fma");
  // 1/√x in f64 has 29 spare bits; rounding it is correct but for cases closer than that to a midpoint.
  Add(registry, "__nv_frsqrt_rn", [](float x) { return static_cast<float>(1 / std::sqrt(double{x})); });
  AddModes(registry, "__nv_double2float", [](double x) { return static_cast<float>(x); });
  AddModes(registry, "__nv_int2float", [](int32_t x) { return static_cast<float>(x); });
  AddModes(registry, "__nv_uint2float", [](uint32_t x) { return static_cast<float>(x); });
  AddModes(registry, "__nv_ll2float", [](int64_t x) { return static_cast<float>(x); });
  AddModes(registry, "__nv_ull2float", [](uint64_t x) { return static_cast<float>(x); });
  AddModes(registry, "__nv_ll2double", [](int64_t x) { return static_cast<double>(x); });
  AddModes(registry, "__nv_ull2double", [](uint64_t x) { return static_cast<double>(x); });
}

}  // namespace tritogen::tile::lanes
