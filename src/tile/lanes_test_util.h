// Shared by the lane tests: operands full of edge cases, and an independent definition of the small float
// formats.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tile/lanes/lanes.h"

namespace tritogen::tile::lanes {

// Every instruction set this CPU runs, the generic one first.
inline std::vector<Isa> AllIsas() {
  std::vector<Isa> isas{Isa::kGeneric};
  if (BestIsa() != Isa::kGeneric) isas.push_back(Isa::kAvx2);
  if (BestIsa() == Isa::kAvx512) isas.push_back(Isa::kAvx512);
  return isas;
}

inline const std::vector<Elem> kIntegers{Elem::kI1, Elem::kI8, Elem::kI16, Elem::kI32, Elem::kI64};
inline const std::vector<Elem> kFloats{Elem::kF16, Elem::kBF16, Elem::kF32, Elem::kF64};
inline const std::vector<Elem> kFp8{Elem::kF8E4M3, Elem::kF8E5M2};

// Exponent and mantissa widths of the floats of at most 16 bits.
struct FloatLayout {
  int mantissa, bias;
  uint32_t max;     // code of the largest finite value
  bool infinities;  // max + 1 is infinity; else NaN
  bool saturates;
};
inline FloatLayout LayoutOf(Elem elem) {
  switch (elem) {
    case Elem::kF16:
      return {10, 15, 0x7bff, true, false};
    case Elem::kBF16:
      return {7, 127, 0x7f7f, true, false};
    case Elem::kF8E4M3:
      return {3, 7, 0x7e, false, true};
    default:
      return {2, 15, 0x7b, true, true};
  }
}

// The value of a code, by the formula of the format.
inline double Decode(Elem elem, uint32_t code) {
  const FloatLayout layout = LayoutOf(elem);
  const uint32_t sign = 1u << (8 * ElemBytes(elem) - 1), mag = code & (sign - 1);
  double value;
  if (mag > layout.max) {
    value = layout.infinities && mag == layout.max + 1 ? INFINITY : NAN;
  } else {
    const int exponent = static_cast<int>(mag >> layout.mantissa);
    const double fraction = mag & ((1u << layout.mantissa) - 1);
    value = exponent == 0
                ? std::ldexp(fraction, 1 - layout.bias - layout.mantissa)
                : std::ldexp(fraction + (1 << layout.mantissa), exponent - layout.bias - layout.mantissa);
  }
  return code & sign ? -value : value;
}

// The code nearest to x (ties to even) or next to it toward zero, by looking at the two neighbours.
inline uint32_t Encode(Elem elem, double x, bool toward_zero) {
  const FloatLayout layout = LayoutOf(elem);
  const uint32_t sign = std::signbit(x) ? 1u << (8 * ElemBytes(elem) - 1) : 0;
  const double mag = std::fabs(x);
  if (std::isnan(x)) return sign | (layout.infinities ? layout.max + 2 : layout.max + 1);
  if (std::isinf(x)) return sign | (layout.saturates ? layout.max : layout.max + 1);
  uint32_t low = 0, high = layout.max + 1;  // the answer is low or low + 1
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (Decode(elem, middle) <= mag ? low : high) = middle;
  }
  const double below = Decode(elem, low),
               step = low == layout.max ? below - Decode(elem, low - 1) : Decode(elem, low + 1) - below;
  const double rest = mag - below;  // exact: the two are close
  bool up = !toward_zero && (rest > step / 2 || (rest == step / 2 && low % 2 == 1));
  if (low == layout.max && layout.saturates) up = false;
  return sign | (low + up);
}

// --- arrays of one element type as bytes
struct Array {
  Elem elem;
  std::vector<uint8_t> bytes;
  Array(Elem e, size_t n) : elem(e), bytes(n * ElemBytes(e)) {}
  size_t size() const { return bytes.size() / ElemBytes(elem); }
  uint64_t Get(size_t i) const {
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes[i * ElemBytes(elem)], ElemBytes(elem));
    return bits;
  }
  void Set(size_t i, uint64_t bits) { std::memcpy(&bytes[i * ElemBytes(elem)], &bits, ElemBytes(elem)); }
  void* data() { return bytes.data(); }
  const void* data() const { return bytes.data(); }
  double Float(size_t i) const {
    if (elem == Elem::kF32) return std::bit_cast<float>(static_cast<uint32_t>(Get(i)));
    if (elem == Elem::kF64) return std::bit_cast<double>(Get(i));
    return Decode(elem, static_cast<uint32_t>(Get(i)));
  }
};

inline bool IsFloatElem(Elem elem) {
  return !(elem <= Elem::kI64);
}

// Bits of a double in `elem`.
inline uint64_t FloatBits(Elem elem, double x) {
  if (elem == Elem::kF32) return std::bit_cast<uint32_t>(static_cast<float>(x));
  if (elem == Elem::kF64) return std::bit_cast<uint64_t>(x);
  return Encode(elem, x, false);
}

inline std::vector<uint64_t> EdgeBits(Elem elem) {
  std::vector<uint64_t> edges;
  const int bits = 8 * ElemBytes(elem);
  if (elem == Elem::kI1) return {0, 1};
  if (IsFloatElem(elem)) {
    for (double x : {0.0,
                     1.0,
                     0.5,
                     1.5,
                     2.5,
                     3.0,
                     1e-3,
                     88.7,
                     104.0,
                     1e4,
                     65504.0,
                     65520.0,
                     3e38,
                     1e-38,
                     1e-45,
                     6e-8,
                     2147483648.0,
                     4294967296.0,
                     9.3e18,
                     1e300,
                     1e-310,
                     static_cast<double>(INFINITY),
                     static_cast<double>(NAN)}) {
      edges.push_back(FloatBits(elem, x));
      edges.push_back(FloatBits(elem, -x));
    }
    return edges;
  }
  for (uint64_t x : {0ull, 1ull, 2ull, 3ull, 7ull, 8ull, 15ull, 16ull, 31ull, 32ull, 63ull, 64ull, 100ull}) {
    edges.push_back(x);
    edges.push_back(0 - x);
  }
  for (uint64_t shift : {bits - 1, bits / 2}) {
    edges.push_back(uint64_t{1} << shift);
    edges.push_back((uint64_t{1} << shift) - 1);
  }
  return edges;
}

// A third edge cases, a third numbers near one (or small integers), a third any bits.
inline Array RandomArray(Elem elem, size_t n, uint64_t seed) {
  std::mt19937_64 random(seed * 1000003 + static_cast<uint64_t>(elem));
  const std::vector<uint64_t> edges = EdgeBits(elem);
  Array array(elem, n);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t bits = random();
    if (elem == Elem::kI1 || i % 3 == 0)
      array.Set(i, edges[bits % edges.size()]);
    else if (i % 3 == 1)
      array.Set(i, IsFloatElem(elem) ? FloatBits(elem, static_cast<double>(bits >> 40) / (1 << 20) - 8)
                                     : bits % 41 - 20);
    else
      array.Set(i, bits);
  }
  return array;
}

// Distance in units of the last place; NaN equals NaN, and only that.
inline uint64_t UlpDistance(Elem elem, uint64_t a, uint64_t b) {
  const auto ordered = [&](uint64_t x) {
    const uint64_t sign = uint64_t{1} << (8 * ElemBytes(elem) - 1);
    return x & sign ? -static_cast<int64_t>(x & (sign - 1)) : static_cast<int64_t>(x);
  };
  Array pair(elem, 2);
  pair.Set(0, a);
  pair.Set(1, b);
  const bool nan_a = std::isnan(pair.Float(0)), nan_b = std::isnan(pair.Float(1));
  if (nan_a || nan_b) return nan_a && nan_b ? 0 : std::numeric_limits<uint64_t>::max();
  const int64_t x = ordered(a), y = ordered(b);
  return x < y ? static_cast<uint64_t>(y) - static_cast<uint64_t>(x)
               : static_cast<uint64_t>(x) - static_cast<uint64_t>(y);
}

// First lane where the arrays differ by more than `ulps` (bitwise, but for NaN, when 0), or -1.
inline int64_t FirstDifference(const Array& a, const Array& b, uint64_t ulps = 0) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a.Get(i) == b.Get(i)) continue;
    if (!IsFloatElem(a.elem)) return static_cast<int64_t>(i);
    const uint64_t distance = UlpDistance(a.elem, a.Get(i), b.Get(i));
    const bool both_nan = distance == 0 && std::isnan(a.Float(i));
    if (!both_nan && (ulps == 0 || distance > ulps)) return static_cast<int64_t>(i);
  }
  return -1;
}

inline std::string Case(std::string_view op, Elem elem, Isa isa) {
  return std::string(op) + " elem " + std::to_string(static_cast<int>(elem)) + " isa " +
         std::to_string(static_cast<int>(isa));
}

}  // namespace tritogen::tile::lanes
