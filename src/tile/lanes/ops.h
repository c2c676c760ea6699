// Internal to lanes: what one lane computes. Integers are unsigned C++ types (TTIR is signless); the
// operation carries the sign. i1 has its own operations on bytes 0 and 1. Compiled per instruction set.
#pragma once

#include "tile/lanes/formats.h"

namespace tritogen::tile::lanes::TRITOGEN_ISA {

template <class T>
struct SignedOf;
template <>
struct SignedOf<uint8_t> {
  using Type = int8_t;
  using Wide = int32_t;
};
template <>
struct SignedOf<uint16_t> {
  using Type = int16_t;
  using Wide = int32_t;
};
template <>
struct SignedOf<uint32_t> {
  using Type = int32_t;
  using Wide = int64_t;
};
template <>
struct SignedOf<uint64_t> {
  using Type = int64_t;
};
template <class T>
using Signed = typename SignedOf<T>::Type;
template <class T>
inline constexpr int kBits = 8 * sizeof(T);
template <class T>
inline Signed<T> AsSigned(T x) {
  return static_cast<Signed<T>>(x);
}

// --- integers. Undefined cases have fixed answers: x / 0 is all ones, x % 0 is x, INT_MIN / -1 is INT_MIN,
// remainder 0. Up to 32 bits the quotient goes through f64, which is exact there and has vector instructions.
template <class T>
inline T DivideUnsigned(T a, T b) {
  if constexpr (sizeof(T) == 8)
    return b == 0 ? ~T(0) : a / b;
  else {
    const T safe = b == 0 ? T(1) : b;
    const T quotient = static_cast<T>(
        static_cast<typename SignedOf<T>::Wide>(static_cast<double>(a) / static_cast<double>(safe)));
    return b == 0 ? static_cast<T>(~T(0)) : quotient;
  }
}
template <class T>
inline T DivideSigned(T a, T b) {
  if constexpr (sizeof(T) == 8) {
    if (b == 0) return ~T(0);
    return b == ~T(0) ? T(0) - a : static_cast<T>(AsSigned(a) / AsSigned(b));
  } else {
    const T safe = b == 0 ? T(1) : b;
    const double quotient = static_cast<double>(AsSigned(a)) / static_cast<double>(AsSigned(safe));
    // Only INT_MIN / -1 leaves the range of i32; its quotient wraps to INT_MIN.
    const T wrapped = quotient >= 2147483648.0
                          ? static_cast<T>(0x80000000u)
                          : static_cast<T>(static_cast<int32_t>(quotient >= 2147483648.0 ? 0.0 : quotient));
    return b == 0 ? static_cast<T>(~T(0)) : wrapped;
  }
}

#define TRITOGEN_INT_OP(Name, expression) \
  struct Name {                           \
    template <class T>                    \
    static T Apply(T a, T b) {            \
      return static_cast<T>(expression);  \
    }                                     \
  };
TRITOGEN_INT_OP(AddI, a + b)
TRITOGEN_INT_OP(SubI, a - b)
TRITOGEN_INT_OP(MulI, 1u * a * b)  // 1u: 16-bit factors must not meet as int
TRITOGEN_INT_OP(AndI, a& b)
TRITOGEN_INT_OP(OrI, a | b)
TRITOGEN_INT_OP(XorI, a ^ b)
TRITOGEN_INT_OP(ShlI, b < kBits<T> ? a << (b & (kBits<T> - 1)) : 0)  // shifts clamp as in PTX
TRITOGEN_INT_OP(ShrUI, b < kBits<T> ? a >> (b & (kBits<T> - 1)) : 0)
TRITOGEN_INT_OP(ShrSI, AsSigned(a) >> (b < kBits<T> ? b : T(kBits<T> - 1)))
TRITOGEN_INT_OP(MinSI, AsSigned(a) < AsSigned(b) ? a : b)
TRITOGEN_INT_OP(MaxSI, AsSigned(a) > AsSigned(b) ? a : b)
TRITOGEN_INT_OP(MinUI, a < b ? a : b)
TRITOGEN_INT_OP(MaxUI, a > b ? a : b)
TRITOGEN_INT_OP(DivUI, DivideUnsigned(a, b))
TRITOGEN_INT_OP(DivSI, DivideSigned(a, b))
TRITOGEN_INT_OP(RemUI, b == 0 ? a : a - 1u * DivideUnsigned(a, b) * b)
TRITOGEN_INT_OP(RemSI, b == 0 ? a : a - 1u * DivideSigned(a, b) * b)
#undef TRITOGEN_INT_OP

struct CeilDivUI {
  template <class T>
  static T Apply(T a, T b) {
    const T quotient = DivideUnsigned(a, b);
    return static_cast<T>(quotient + (b != 0 && static_cast<T>(1u * quotient * b) != a));
  }
};
// Signed quotients that round up or down: one step from the truncated one where the remainder is not zero.
template <bool kUp>
struct RoundedDivSI {
  template <class T>
  static T Apply(T a, T b) {
    const T quotient = DivideSigned(a, b), remainder = RemSI::Apply(a, b);
    const bool same_sign = (AsSigned(a) < 0) == (AsSigned(b) < 0);
    const bool step = b != 0 && remainder != 0 && same_sign == kUp;
    return static_cast<T>(quotient + (step ? (kUp ? T(1) : static_cast<T>(~T(0))) : T(0)));
  }
};
struct MulHiUI {
  static uint32_t Apply(uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(static_cast<uint64_t>(a) * b >> 32);
  }
  static uint64_t Apply(uint64_t a, uint64_t b) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
  }
};
struct AbsI {
  template <class T>
  static T Apply(T a) {
    return AsSigned(a) < 0 ? static_cast<T>(T(0) - a) : a;
  }
};

// --- i1, values 0 and 1; as a signed number 1 is -1.
#define TRITOGEN_BIT_OP(Name, expression)                                                   \
  struct Name {                                                                             \
    static uint8_t Apply(uint8_t a, uint8_t b) { return static_cast<uint8_t>(expression); } \
  };
TRITOGEN_BIT_OP(BitDiv, a | (b ^ 1))
TRITOGEN_BIT_OP(BitRem, a&(b ^ 1))
TRITOGEN_BIT_OP(BitShift, a&(b ^ 1))
TRITOGEN_BIT_OP(BitFirst, a)
#undef TRITOGEN_BIT_OP

// --- floats
template <class T>
struct FloatBitsOf;
template <>
struct FloatBitsOf<float> {
  using Type = uint32_t;
};
template <>
struct FloatBitsOf<double> {
  using Type = uint64_t;
};
template <class T>
using FloatBits = typename FloatBitsOf<T>::Type;
template <class T>
inline constexpr FloatBits<T> kSignBit = FloatBits<T>(1) << (8 * sizeof(T) - 1);

inline float Fmod(float a, float b) {
  return __builtin_fmodf(a, b);
}
inline double Fmod(double a, double b) {
  return __builtin_fmod(a, b);
}
inline float FusedMultiplyAdd(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
inline double FusedMultiplyAdd(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

struct AddF {
  template <class T>
  static T Apply(T a, T b) {
    return a + b;
  }
};
struct SubF {
  template <class T>
  static T Apply(T a, T b) {
    return a - b;
  }
};
struct MulF {
  template <class T>
  static T Apply(T a, T b) {
    return a * b;
  }
};
struct DivF {
  template <class T>
  static T Apply(T a, T b) {
    return a / b;
  }
};
struct RemF {
  template <class T>
  static T Apply(T a, T b) {
    return Fmod(a, b);
  }
};

// Larger or smaller of two numbers, -0 < +0: where both are equal, and/or of the bits picks the sign of zero.
template <bool kMax, class T>
inline T Extremum(T a, T b) {
  const FloatBits<T> x = Bits<FloatBits<T>>(a), y = Bits<FloatBits<T>>(b);
  const T pick = (kMax ? a > b : a < b) ? a : b;
  return a == b ? Bits<T>(kMax ? x & y : x | y) : pick;
}
template <bool kMax>
struct IgnoreNan {  // minnumf, maxnumf: of a NaN and a number, the number
  template <class T>
  static T Apply(T a, T b) {
    const T pick = Extremum<kMax>(a, b);  // NaN in a falls through to b
    return b != b ? a : pick;
  }
};
template <bool kMax>
struct SpreadNan {  // minimumf, maximumf
  template <class T>
  static T Apply(T a, T b) {
    const T pick = Extremum<kMax>(a, b);
    return a != a ? a : pick;  // NaN in b falls through
  }
};
using MinNumF = IgnoreNan<false>;
using MaxNumF = IgnoreNan<true>;
using MinimumF = SpreadNan<false>;
using MaximumF = SpreadNan<true>;

struct ClampNone {
  template <class T>
  static T Apply(T x, T lo, T hi) {
    return MinNumF::Apply(MaxNumF::Apply(x, lo), hi);
  }
};
struct ClampAll {
  template <class T>
  static T Apply(T x, T lo, T hi) {
    return MinimumF::Apply(MaximumF::Apply(x, lo), hi);
  }
};
struct Fma {
  template <class T>
  static T Apply(T a, T b, T c) {
    return FusedMultiplyAdd(a, b, c);
  }
};
// f16 and bf16 operands: the product is exact in f64, the sum rounds to odd, so that narrowing rounds once.
struct FmaToOdd {
  static float Apply(float a, float b, float c) { return OddFloat(OddSum(static_cast<double>(a) * b, c)); }
};

struct NegF {
  template <class T>
  static T Apply(T a) {
    return Bits<T>(Bits<FloatBits<T>>(a) ^ kSignBit<T>);
  }
};
struct AbsF {
  template <class T>
  static T Apply(T a) {
    return Bits<T>(Bits<FloatBits<T>>(a) & ~kSignBit<T>);
  }
};

}  // namespace tritogen::tile::lanes::TRITOGEN_ISA
