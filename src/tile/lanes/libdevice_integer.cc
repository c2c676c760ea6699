// libdevice: bits, integers, bit casts and classification.
#include <bit>
#include <cmath>
#include <limits>

#include "tile/lanes/libdevice.h"

namespace tritogen::tile::lanes {
namespace {

template <class T>
T ReverseBits(T x) {
  T result = 0;
  for (int i = 0; i < std::numeric_limits<T>::digits; ++i, x >>= 1) result = (result << 1) | (x & 1);
  return result;
}

// Byte i of the result is byte (selector >> 4i) & 7 of the eight bytes y:x.
uint32_t BytePermute(uint32_t x, uint32_t y, uint32_t selector) {
  const uint64_t bytes = static_cast<uint64_t>(y) << 32 | x;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i)
    result |= static_cast<uint32_t>(bytes >> ((selector >> (4 * i) & 7) * 8) & 0xff) << (8 * i);
  return result;
}

int32_t Low24(int32_t x) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) << 8) >> 8;
}
uint32_t Distance(int64_t a, int64_t b) {
  return static_cast<uint32_t>(a < b ? b - a : a - b);
}
uint32_t Low32(int64_t x) {
  return static_cast<uint32_t>(x);
}

void AddBitCounts(ExternRegistry& registry) {
  Add(registry, "__nv_popc", [](uint32_t x) -> int32_t { return std::popcount(x); });
  Add(registry, "__nv_popcll", [](uint64_t x) -> int32_t { return std::popcount(x); });
  Add(registry, "__nv_clz", [](uint32_t x) -> int32_t { return std::countl_zero(x); });
  Add(registry, "__nv_clzll", [](uint64_t x) -> int32_t { return std::countl_zero(x); });
  Add(registry, "__nv_ffs", [](uint32_t x) -> int32_t { return x == 0 ? 0 : std::countr_zero(x) + 1; });
  Add(registry, "__nv_ffsll", [](uint64_t x) -> int32_t { return x == 0 ? 0 : std::countr_zero(x) + 1; });
  Add(registry, "__nv_brev", [](uint32_t x) { return ReverseBits(x); });
  Add(registry, "__nv_brevll", [](uint64_t x) { return ReverseBits(x); });
  Add(registry, "__nv_byte_perm", [](uint32_t x, uint32_t y, uint32_t s) { return BytePermute(x, y, s); });
}

void AddIntegerArithmetic(ExternRegistry& registry) {
  using U128 = unsigned __int128;
  Add(registry, "__nv_abs",
      [](int32_t x) { return x < 0 ? 0u - static_cast<uint32_t>(x) : static_cast<uint32_t>(x); });
  Add(registry, "__nv_llabs",
      [](int64_t x) { return x < 0 ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x); });
  Add(registry, "__nv_mulhi",
      [](int32_t x, int32_t y) { return static_cast<int32_t>(int64_t{x} * y >> 32); });
  Add(registry, "__nv_umulhi",
      [](uint32_t x, uint32_t y) { return static_cast<uint32_t>(uint64_t{x} * y >> 32); });
  Add(registry, "__nv_mul64hi",
      [](int64_t x, int64_t y) { return static_cast<int64_t>(static_cast<__int128>(x) * y >> 64); });
  Add(registry, "__nv_umul64hi",
      [](uint64_t x, uint64_t y) { return static_cast<uint64_t>(static_cast<U128>(x) * y >> 64); });
  Add(registry, "__nv_mul24", [](int32_t x, int32_t y) { return Low32(int64_t{Low24(x)} * Low24(y)); });
  Add(registry, "__nv_umul24", [](uint32_t x, uint32_t y) { return (x & 0xffffff) * (y & 0xffffff); });
  Add(registry, "__nv_sad", [](int32_t x, int32_t y, uint32_t z) { return Distance(x, y) + z; });
  Add(registry, "__nv_usad", [](uint32_t x, uint32_t y, uint32_t z) { return Distance(x, y) + z; });
  Add(registry, "__nv_hadd", [](int32_t x, int32_t y) { return Low32((int64_t{x} + y) >> 1); });
  Add(registry, "__nv_rhadd", [](int32_t x, int32_t y) { return Low32((int64_t{x} + y + 1) >> 1); });
  Add(registry, "__nv_uhadd", [](uint32_t x, uint32_t y) { return Low32((int64_t{x} + y) >> 1); });
  Add(registry, "__nv_urhadd", [](uint32_t x, uint32_t y) { return Low32((int64_t{x} + y + 1) >> 1); });
  Add(registry, "__nv_min", [](int32_t x, int32_t y) { return x < y ? x : y; });
  Add(registry, "__nv_max", [](int32_t x, int32_t y) { return x > y ? x : y; });
  Add(registry, "__nv_umin", [](uint32_t x, uint32_t y) { return x < y ? x : y; });
  Add(registry, "__nv_umax", [](uint32_t x, uint32_t y) { return x > y ? x : y; });
  Add(registry, "__nv_llmin", [](int64_t x, int64_t y) { return x < y ? x : y; });
  Add(registry, "__nv_llmax", [](int64_t x, int64_t y) { return x > y ? x : y; });
  Add(registry, "__nv_ullmin", [](uint64_t x, uint64_t y) { return x < y ? x : y; });
  Add(registry, "__nv_ullmax", [](uint64_t x, uint64_t y) { return x > y ? x : y; });
}

void AddBitCasts(ExternRegistry& registry) {
  for (const char* name : {"__nv_float_as_int", "__nv_float_as_uint"}) {
    Add(registry, name, [](float x) { return std::bit_cast<int32_t>(x); });
  }
  for (const char* name : {"__nv_int_as_float", "__nv_uint_as_float"}) {
    Add(registry, name, [](int32_t x) { return std::bit_cast<float>(x); });
  }
  Add(registry, "__nv_double_as_longlong", [](double x) { return std::bit_cast<int64_t>(x); });
  Add(registry, "__nv_longlong_as_double", [](int64_t x) { return std::bit_cast<double>(x); });
  Add(registry, "__nv_double2hiint",
      [](double x) { return static_cast<uint32_t>(std::bit_cast<uint64_t>(x) >> 32); });
  Add(registry, "__nv_double2loint",
      [](double x) { return static_cast<uint32_t>(std::bit_cast<uint64_t>(x)); });
  Add(registry, "__nv_hiloint2double",
      [](uint32_t hi, uint32_t lo) { return std::bit_cast<double>(uint64_t{hi} << 32 | lo); });
  // The reciprocal of the leading half of x, to a leading half; subnormals are zero.
  Add(registry, "__nv_rcp64h", [](double x) {
    constexpr uint64_t kHigh = 0xffffffff00000000;
    if (std::fpclassify(x) == FP_SUBNORMAL) x = std::copysign(0.0, x);
    const double result = 1 / std::bit_cast<double>(std::bit_cast<uint64_t>(x) & kHigh);
    if (std::fpclassify(result) == FP_SUBNORMAL) return std::copysign(0.0, result);
    return std::bit_cast<double>(std::bit_cast<uint64_t>(result) & kHigh);
  });
}

void AddClassification(ExternRegistry& registry) {
  Add(registry, "__nv_isnanf", [](float x) -> int32_t { return std::isnan(x); });
  Add(registry, "__nv_isnand", [](double x) -> int32_t { return std::isnan(x); });
  Add(registry, "__nv_isinff", [](float x) -> int32_t { return std::isinf(x); });
  Add(registry, "__nv_isinfd", [](double x) -> int32_t { return std::isinf(x); });
  Add(registry, "__nv_finitef", [](float x) -> int32_t { return std::isfinite(x); });
  Add(registry, "__nv_isfinited", [](double x) -> int32_t { return std::isfinite(x); });
  Add(registry, "__nv_signbitf", [](float x) -> int32_t { return std::signbit(x); });
  Add(registry, "__nv_signbitd", [](double x) -> int32_t { return std::signbit(x); });
}

}  // namespace

void AddIntegerExterns(ExternRegistry& registry) {
  AddBitCounts(registry);
  AddIntegerArithmetic(registry);
  AddBitCasts(registry);
  AddClassification(registry);
}

}  // namespace tritogen::tile::lanes
