#include "tile/lanes/libdevice.h"

#include <math.h>

#include <cmath>

#include "tile/lanes/isa.h"
#include "tile/lanes/special.h"

namespace tritogen::tile::lanes {
namespace {

double LogGamma(double x) {
#if defined(__GLIBC__)
  int sign;
  return ::lgamma_r(x, &sign);  // lgamma writes a global
#else
  return std::lgamma(x);
#endif
}

void AddElementary(ExternRegistry& registry) {
  AddBoth(registry, "__nv_sqrt", [](double x) { return std::sqrt(x); });
  AddBoth(registry, "__nv_rsqrt", [](double x) { return 1 / std::sqrt(x); });
  AddBoth(registry, "__nv_cbrt", [](double x) { return std::cbrt(x); });
  AddBoth(registry, "__nv_rcbrt", [](double x) { return 1 / std::cbrt(x); });
  AddBoth(registry, "__nv_exp", [](double x) { return std::exp(x); });
  AddBoth(registry, "__nv_exp2", [](double x) { return std::exp2(x); });
  AddBoth(registry, "__nv_exp10", [](double x) { return std::pow(10.0, x); });
  AddBoth(registry, "__nv_expm1", [](double x) { return std::expm1(x); });
  AddBoth(registry, "__nv_log", [](double x) { return std::log(x); });
  AddBoth(registry, "__nv_log2", [](double x) { return std::log2(x); });
  AddBoth(registry, "__nv_log10", [](double x) { return std::log10(x); });
  AddBoth(registry, "__nv_log1p", [](double x) { return std::log1p(x); });
  AddBoth(registry, "__nv_sin", [](double x) { return std::sin(x); });
  AddBoth(registry, "__nv_cos", [](double x) { return std::cos(x); });
  AddBoth(registry, "__nv_tan", [](double x) { return std::tan(x); });
  AddBoth(registry, "__nv_asin", [](double x) { return std::asin(x); });
  AddBoth(registry, "__nv_acos", [](double x) { return std::acos(x); });
  AddBoth(registry, "__nv_atan", [](double x) { return std::atan(x); });
  AddBoth(registry, "__nv_sinh", [](double x) { return std::sinh(x); });
  AddBoth(registry, "__nv_cosh", [](double x) { return std::cosh(x); });
  AddBoth(registry, "__nv_tanh", [](double x) { return std::tanh(x); });
  AddBoth(registry, "__nv_asinh", [](double x) { return std::asinh(x); });
  AddBoth(registry, "__nv_acosh", [](double x) { return std::acosh(x); });
  AddBoth(registry, "__nv_atanh", [](double x) { return std::atanh(x); });
  AddBoth(registry, "__nv_sinpi", [](double x) { return SinPi(x); });
  AddBoth(registry, "__nv_cospi", [](double x) { return CosPi(x); });
  AddBoth(registry, "__nv_atan2", [](double y, double x) { return std::atan2(y, x); });
  AddBoth(registry, "__nv_pow", [](double x, double y) { return std::pow(x, y); });
  AddBoth(registry, "__nv_powi", [](double x, int32_t n) { return std::pow(x, static_cast<double>(n)); });
}

void AddSpecial(ExternRegistry& registry) {
  AddBoth(registry, "__nv_erf", [](double x) { return std::erf(x); });
  AddBoth(registry, "__nv_erfc", [](double x) { return std::erfc(x); });
  AddBoth(registry, "__nv_erfcx", [](double x) { return Erfcx(x); });
  AddBoth(registry, "__nv_erfinv", [](double x) { return ErfInv(x); });
  AddBoth(registry, "__nv_erfcinv", [](double x) { return ErfcInv(x); });
  AddBoth(registry, "__nv_normcdf", [](double x) { return NormCdf(x); });
  AddBoth(registry, "__nv_normcdfinv", [](double x) { return NormCdfInv(x); });
  AddBoth(registry, "__nv_lgamma", [](double x) { return LogGamma(x); });
  AddBoth(registry, "__nv_tgamma", [](double x) { return std::tgamma(x); });
  AddBoth(registry, "__nv_j0", [](double x) { return ::j0(x); });
  AddBoth(registry, "__nv_j1", [](double x) { return ::j1(x); });
  AddBoth(registry, "__nv_jn", [](int32_t n, double x) { return ::jn(n, x); });
  AddBoth(registry, "__nv_y0", [](double x) { return ::y0(x); });
  AddBoth(registry, "__nv_y1", [](double x) { return ::y1(x); });
  AddBoth(registry, "__nv_yn", [](int32_t n, double x) { return ::yn(n, x); });
  AddBoth(registry, "__nv_cyl_bessel_i0", [](double x) { return BesselI0(x); });
  AddBoth(registry, "__nv_cyl_bessel_i1", [](double x) { return BesselI1(x); });
}

void AddLengths(ExternRegistry& registry) {
  AddBoth(registry, "__nv_hypot", [](double x, double y) { return std::hypot(x, y); });
  AddBoth(registry, "__nv_rhypot", [](double x, double y) { return 1 / std::hypot(x, y); });
  AddBoth(registry, "__nv_norm3d",
          [](double x, double y, double z) { return std::hypot(std::hypot(x, y), z); });
  AddBoth(registry, "__nv_rnorm3d",
          [](double x, double y, double z) { return 1 / std::hypot(std::hypot(x, y), z); });
  AddBoth(registry, "__nv_norm4d", [](double x, double y, double z, double w) {
    return std::hypot(std::hypot(x, y), std::hypot(z, w));
  });
  AddBoth(registry, "__nv_rnorm4d", [](double x, double y, double z, double w) {
    return 1 / std::hypot(std::hypot(x, y), std::hypot(z, w));
  });
}

// Results that f64 holds exactly when the operands are f32, and functions of the representation.
void AddManipulation(ExternRegistry& registry) {
  AddBoth(registry, "__nv_fabs", [](double x) { return std::fabs(x); });
  AddBoth(registry, "__nv_floor", [](double x) { return std::floor(x); });
  AddBoth(registry, "__nv_ceil", [](double x) { return std::ceil(x); });
  AddBoth(registry, "__nv_trunc", [](double x) { return std::trunc(x); });
  AddBoth(registry, "__nv_round", [](double x) { return std::round(x); });
  AddBoth(registry, "__nv_rint", [](double x) { return std::rint(x); });
  AddBoth(registry, "__nv_nearbyint", [](double x) { return std::rint(x); });
  AddBoth(registry, "__nv_fmod", [](double x, double y) { return std::fmod(x, y); });
  AddBoth(registry, "__nv_remainder", [](double x, double y) { return std::remainder(x, y); });
  AddBoth(registry, "__nv_fdim", [](double x, double y) { return std::fdim(x, y); });
  AddBoth(registry, "__nv_fmin", [](double x, double y) { return std::fmin(x, y); });
  AddBoth(registry, "__nv_fmax", [](double x, double y) { return std::fmax(x, y); });
  AddBoth(registry, "__nv_copysign", [](double x, double y) { return std::copysign(x, y); });
  AddBoth(registry, "__nv_ldexp", [](double x, int32_t n) { return std::scalbn(x, n); });
  AddBoth(registry, "__nv_scalbn", [](double x, int32_t n) { return std::scalbn(x, n); });
  AddBoth(registry, "__nv_logb", [](double x) { return std::logb(x); });
  AddBoth(registry, "__nv_ilogb", [](double x) -> int32_t { return std::ilogb(x); });
  Add(registry, "__nv_nextafter", [](double x, double y) { return std::nextafter(x, y); });
  Add(registry, "__nv_nextafterf", [](float x, float y) { return std::nextafter(x, y); });
  Add(registry, "__nv_fma", [](double x, double y, double z) { return std::fma(x, y, z); });
  Add(registry, "__nv_fmaf", [](float x, float y, float z) { return std::fma(x, y, z); });
  Add(registry, "__nv_saturatef", [](float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; });  // NaN is 0
}

const ExternRegistry& Registry() {
  static const ExternRegistry registry = [] {
    ExternRegistry rows;
    AddMathExterns(rows);
    AddFastExterns(rows);
    AddIntegerExterns(rows);
    AddConversionExterns(rows);
    AddRoundedExterns(rows);
    return rows;
  }();
  return registry;
}

}  // namespace

void AddMathExterns(ExternRegistry& registry) {
  AddElementary(registry);
  AddSpecial(registry);
  AddLengths(registry);
  AddManipulation(registry);
}

ExternFn FindExtern(std::string_view symbol, Isa isa) {
  const auto row = Registry().find(symbol);
  if (row == Registry().end()) return {};
  ExternFn function = row->second;
  if (const ExternCall vector = TablesOf(isa).vector_extern(row->first.c_str())) function.call = vector;
  return function;
}

}  // namespace tritogen::tile::lanes
