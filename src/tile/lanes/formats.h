// Internal to lanes: number formats and their rounding, one value at a time and in bulk. Compiled per
// instruction set.
#pragma once

#include "tile/lanes/isa.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace tritogen::tile::lanes::TRITOGEN_ISA {

template <class To, class From>
inline To Bits(From from) {
  return __builtin_bit_cast(To, from);
}

// A binary float of at most 16 bits. kMax: code of the largest finite value; kInf: code of infinity, 0 where
// there is none. A saturating format turns everything too large into kMax. NaN keeps its sign and its leading
// payload bits.
template <class Code, int kMant, int kBias, uint32_t kMax, uint32_t kInf, uint32_t kNan, bool kSaturates>
struct SmallFloat {
  using Storage = Code;
  static constexpr int kShift = 23 - kMant;
  static constexpr int kSignShift = 32 - 8 * static_cast<int>(sizeof(Storage));
  static constexpr uint32_t kMantMask = (1u << kMant) - 1;
  static constexpr uint32_t kMagMask = (1u << (8 * sizeof(Storage) - 1)) - 1;
  static constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias) << kMant;
  static constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(128 - kBias) << 23;  // as f32 bits
  static constexpr bool kHasOwnSubnormals = kBias != 127;  // else those of f32, shifted

  template <bool kTowardZero>
  static Storage Narrow(float x) {
    const uint32_t bits = Bits<uint32_t>(x), mag = bits & 0x7fffffff;
    const uint32_t rounding = kTowardZero ? 0 : (1u << (kShift - 1)) - 1 + ((mag >> kShift) & 1);
    uint32_t code = ((mag + rounding) >> kShift) - kRebias;
    if constexpr (kHasOwnSubnormals) code = mag < kSmallestNormal ? NarrowSubnormal<kTowardZero>(mag) : code;
    const uint32_t limit = kSaturates || (kTowardZero && mag < 0x7f800000) ? kMax : kInf;
    code = code < limit ? code : limit;
    code = mag > 0x7f800000 ? (kNan | ((mag >> kShift) & kMantMask)) : code;
    return static_cast<Storage>(code | ((bits & 0x80000000u) >> kSignShift));
  }

  static float Widen(Storage s) {
    const uint32_t mag = s & kMagMask;
    uint32_t bits = (mag + kRebias) << kShift;
    if constexpr (kHasOwnSubnormals) {
      const float subnormal = static_cast<float>(static_cast<int32_t>(mag)) * Unit();
      bits = mag <= kMantMask ? Bits<uint32_t>(subnormal) : bits;
      if constexpr (kInf != 0) bits = mag >= kInf ? 0x7f800000u | (mag & kMantMask) << kShift : bits;
    }
    bits = mag > (kInf != 0 ? kInf : kMax) ? bits | 0x7fc00000u : bits;  // NaN becomes quiet
    return Bits<float>(bits | static_cast<uint32_t>(s & (kMagMask + 1)) << kSignShift);
  }

 private:
  static float Unit() {
    return Bits<float>(static_cast<uint32_t>(128 - kBias - kMant) << 23);
  }  // smallest subnormal

  template <bool kTowardZero>
  static uint32_t NarrowSubnormal(uint32_t mag) {
    const float x = Bits<float>(mag < kSmallestNormal ? mag : 0);
    if constexpr (kTowardZero) return static_cast<uint32_t>(static_cast<int32_t>(x / Unit()));
    constexpr uint32_t kMagic = static_cast<uint32_t>(128 - kBias - kMant + 23)
                                << 23;  // its last bit is worth Unit()
    return Bits<uint32_t>(x + Bits<float>(kMagic)) - kMagic;
  }
};

using HalfFormat = SmallFloat<uint16_t, 10, 15, 0x7bff, 0x7c00, 0x7e00, false>;
using BFloatFormat = SmallFloat<uint16_t, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, false>;
using E4M3Format = SmallFloat<uint8_t, 3, 7, 0x7e, 0, 0x7f, true>;
using E5M2Format = SmallFloat<uint8_t, 2, 15, 0x7b, 0x7c, 0x7f, true>;

// f32 with 10 mantissa bits: nearest, ties away from zero, as cvt.rna.tf32.f32. Infinity and NaN stay.
inline float NearestTf32(float x) {
  const uint32_t bits = Bits<uint32_t>(x);
  const bool finite = (bits & 0x7f800000) != 0x7f800000;
  return Bits<float>(finite ? (bits + 0x1000) & 0xffffe000u : bits);
}

// The same with the rest cut off, as tensor cores do it to the factors of a TF32 product (measured on
// Hopper).
inline float CutToTf32(float x) {
  const uint32_t bits = Bits<uint32_t>(x);
  const bool finite = (bits & 0x7f800000) != 0x7f800000;
  return Bits<float>(finite ? bits & 0xffffe000u : bits);
}

template <class Format>
[[gnu::noinline]] void WidenArray(const void* in, float* out, size_t n) {
  const auto* codes = static_cast<const typename Format::Storage*>(in);
  size_t i = 0;
#if defined(__AVX512F__)
  if constexpr (__is_same(Format, HalfFormat)) {
    for (; i + 16 <= n; i += 16) {
      const auto bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + i));
      _mm512_storeu_ps(out + i, _mm512_cvtph_ps(bits));
    }
  }
#elif defined(__F16C__)
  if constexpr (__is_same(Format, HalfFormat)) {
    for (; i + 8 <= n; i += 8) {
      const auto bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + i));
      _mm256_storeu_ps(out + i, _mm256_cvtph_ps(bits));
    }
  }
#endif
  TRITOGEN_IVDEP
  for (size_t j = i; j < n; ++j) out[j] = Format::Widen(codes[j]);
}

template <class Format, bool kTowardZero = false>
[[gnu::noinline]] void NarrowArray(const float* in, void* out, size_t n) {
  auto* codes = static_cast<typename Format::Storage*>(out);
  size_t i = 0;
#if defined(__F16C__)
  constexpr int kRounding = kTowardZero ? _MM_FROUND_TO_ZERO : _MM_FROUND_TO_NEAREST_INT;
#endif
#if defined(__AVX512F__)
  if constexpr (__is_same(Format, HalfFormat)) {
    for (; i + 16 <= n; i += 16) {
      const auto bits = _mm512_cvtps_ph(_mm512_loadu_ps(in + i), kRounding | _MM_FROUND_NO_EXC);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + i), bits);
    }
  }
#elif defined(__F16C__)
  if constexpr (__is_same(Format, HalfFormat)) {
    for (; i + 8 <= n; i += 8) {
      const auto bits = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), kRounding | _MM_FROUND_NO_EXC);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + i), bits);
    }
  }
#endif
  TRITOGEN_IVDEP
  for (size_t j = i; j < n; ++j) codes[j] = Format::template Narrow<kTowardZero>(in[j]);
}

// f64 → f32, rounding to odd: inexact results get an odd mantissa, so that a second rounding to a format of
// at most 22 significant bits, in any mode, gives what one rounding would have given.
inline float OddFloat(double x) {
  const float nearest = static_cast<float>(x);
  const uint32_t bits = Bits<uint32_t>(nearest);
  const double error = static_cast<double>(nearest) - x;  // sign only; infinite where `nearest` overflowed
  const bool away = x < 0 ? error < 0 : error > 0;
  const uint32_t odd = bits + (away ? -1u : 1u);
  const bool exact = !(error < 0 || error > 0) || (bits & 1) != 0;
  return exact ? nearest : Bits<float>(odd);
}

// The sum a + b rounded to odd in f64.
inline double OddSum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a, error = (a - (sum - b_part)) + (b - b_part);
  const uint64_t bits = Bits<uint64_t>(sum);
  const bool away = sum < 0 ? error > 0 : error < 0;
  const bool exact = !(error < 0 || error > 0) || (bits & 1) != 0;
  return exact ? sum : Bits<double>(bits + (away ? uint64_t{0} - 1 : 1));
}

// Integers of 64 bits to f64 by keeping the leading 53 bits and a sticky bit: rounds to odd.
inline double OddDouble(uint64_t x) {
  const uint64_t sticky = (x & ~uint64_t{0x7ff}) | static_cast<uint64_t>((x & 0x7ff) != 0) << 11;
  return static_cast<double>(x >> 53 != 0 ? sticky : x);
}
inline double OddDouble(int64_t x) {
  const double mag = OddDouble(x < 0 ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x));
  return x < 0 ? -mag : mag;
}

// float → integer toward zero; out of range saturates, NaN is 0. Defined for every input.
template <class To, class From>
inline To SaturatingCast(From x) {
  constexpr To kMin = static_cast<To>(To(-1) < To(0) ? To(1) << (8 * sizeof(To) - 1) : 0);
  constexpr To kMax = static_cast<To>(~kMin);
  constexpr From kEnd = static_cast<From>(uint64_t{1} << (8 * sizeof(To) - 2)) * (To(-1) < To(0) ? 2 : 4);
  const From low = To(-1) < To(0) ? -kEnd : From(0);
  const bool inside = x >= low && x < kEnd;
  To result = static_cast<To>(inside ? x : From(0));
  result = x >= kEnd ? kMax : result;
  return x < low ? kMin : result;
}

}  // namespace tritogen::tile::lanes::TRITOGEN_ISA
