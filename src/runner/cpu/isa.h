// Internal: vectors of the instruction set that a source is compiled for. Everything stands in the namespace
// TRITOGEN_ISA and uses no inline functions from elsewhere, the standard library's or ours, so that the
// linker never picks an AVX-512 copy of a function for a CPU without it.
#pragma once

#include "runner/cpu/kernels.h"

namespace tritogen::cpu {
namespace generic {
extern const Kernels kKernels;
}
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
namespace avx2bf16 {
extern const LinearKernels kLinear;
}  // namespace avx2bf16
namespace avx512bf16 {
extern const LinearKernels kLinear;
}  // namespace avx512bf16
namespace amx {
extern const LinearKernels kLinear;
}  // namespace amx
}  // namespace tritogen::cpu

#ifdef TRITOGEN_ISA  // not in sources that are compiled once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tritogen::cpu::TRITOGEN_ISA {

extern const LinearKernels kLinear;
extern const SamplingKernels kSampling;
void Attend(const Attention& attention, Element element);

#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
#elif defined(__AVX2__)
inline constexpr int kLanes = 8;
#else
inline constexpr int kLanes = 4;
#endif

typedef float Vec __attribute__((vector_size(4 * kLanes)));
typedef int32_t IntVec __attribute__((vector_size(4 * kLanes)));
typedef uint32_t UintVec __attribute__((vector_size(4 * kLanes)));
typedef uint16_t HalfVec __attribute__((vector_size(2 * kLanes)));
typedef int8_t ByteVec __attribute__((vector_size(kLanes)));

struct BFloat16 {
  uint16_t bits;
};
struct Float16 {
  uint16_t bits;
};

template <typename To, typename From>
inline To Bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}
template <typename T>
inline T Read(const void* from) {
  T out;
  __builtin_memcpy(&out, from, sizeof(out));
  return out;
}

// In a register: GCC would load it again where it is used again, and the loads are what a loop waits for.
inline Vec Kept(Vec x) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  __asm__("" : "+x"(x));
#endif
  return x;
}
// Begins sums in registers: of `= {}` GCC 12 makes `rep stos`.
template <typename V, size_t kFirst, size_t kSecond>
inline __attribute__((always_inline)) void Clear(V (&sums)[kFirst][kSecond]) {
#pragma GCC unroll 16
  for (size_t i = 0; i < kFirst; ++i) {
#pragma GCC unroll 16
    for (size_t k = 0; k < kSecond; ++k) sums[i][k] = V{};
  }
}
inline Vec All(float x) {
  return x - Vec{};
}
inline Vec Load(const float* from) {
  return Read<Vec>(from);
}
// GCC 12 makes four instructions of convertvector where there is one.
inline UintVec Widened(HalfVec x) {
#if defined(__AVX512F__)
  return Bits<UintVec>(_mm512_cvtepu16_epi32(Bits<__m256i>(x)));
#elif defined(__AVX2__)
  return Bits<UintVec>(_mm256_cvtepu16_epi32(Bits<__m128i>(x)));
#else
  return __builtin_convertvector(x, UintVec);
#endif
}
inline Vec Load(const BFloat16* from) {
  return Bits<Vec>(Widened(Read<HalfVec>(from)) << 16);
}
inline Vec Load(const int8_t* from) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return Bits<Vec>(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)));
#else
  return __builtin_convertvector(__builtin_convertvector(Read<ByteVec>(from), IntVec), Vec);
#endif
}
// Exact for finite numbers, subnormal ones too: the exponent's bias is put right by a product.
inline Vec Load(const Float16* from) {
  const UintVec bits = Widened(Read<HalfVec>(from));
  const Vec magnitude = Bits<Vec>((bits & 0x7fff) << 13) * 0x1p112f;
  return Bits<Vec>(Bits<UintVec>(magnitude) | (bits & 0x8000) << 16);
}
inline void Store(float* to, Vec x) {
  __builtin_memcpy(to, &x, sizeof(x));
}

inline float Load1(const float* from) {
  return *from;
}
inline float Load1(const BFloat16* from) {
  return Bits<float>(uint32_t{from->bits} << 16);
}
inline float Load1(const int8_t* from) {
  return *from;
}
inline float Load1(const Float16* from) {
  const uint32_t bits = from->bits;
  const float magnitude = Bits<float>((bits & 0x7fff) << 13) * 0x1p112f;
  return Bits<float>(Bits<uint32_t>(magnitude) | (bits & 0x8000) << 16);
}
inline void Store1(float* to, float x) {
  *to = x;
}
// To the nearest, ties to even; NaN stays NaN.
inline void Store1(BFloat16* to, float x) {
  const uint32_t bits = Bits<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  to->bits = static_cast<uint16_t>(x == x ? rounded : bits >> 16 | 0x40);
}

// Lanes halved again and again: the same order for every row.
inline float Sum(Vec x) {
#if defined(__AVX512F__)  // the same order, in registers
  return _mm512_reduce_add_ps(Bits<__m512>(x));
#elif defined(__AVX2__)
  const __m256 all = Bits<__m256>(x);
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
#else
  float lanes[kLanes];
  Store(lanes, x);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
#endif
}
// What becomes of an output's sum.
inline void Finish(const Matrix& matrix, int64_t out, float sum, bool add, float* y) {
  if (matrix.scales) sum *= matrix.scales[out];
  if (matrix.bias) sum += matrix.bias[out];
  *y = add ? *y + sum : sum;
}

inline constexpr int64_t kRowsAtOnce = 4;
#if defined(__AVX512F__)
inline constexpr int64_t kOutsAtOnce = 4;  // 16 accumulators of 32 registers
#else
inline constexpr int64_t kOutsAtOnce = 2;  // 8 of 16
#endif

template <typename By, int64_t kOuts>
void MultiplyRows(const Matrix& m, const typename By::Input* x, int64_t rows, int64_t out, bool add, float* y,
                  int64_t y_stride) {
  int64_t r = 0;
  for (; r + kRowsAtOnce <= rows; r += kRowsAtOnce)
    By::template Block<kOuts, kRowsAtOnce>(m, x + r * m.in, out, add, y + r * y_stride, y_stride);
  switch (rows - r) {
    case 3:
      return By::template Block<kOuts, 3>(m, x + r * m.in, out, add, y + r * y_stride, y_stride);
    case 2:
      return By::template Block<kOuts, 2>(m, x + r * m.in, out, add, y + r * y_stride, y_stride);
    case 1:
      return By::template Block<kOuts, 1>(m, x + r * m.in, out, add, y + r * y_stride, y_stride);
  }
}

// Outputs [from, to) of rows x [rows][m.in] by By::Block<outputs, rows>, several of both at once. It sums
// each in the same order whatever stands beside it.
template <typename By>
void MultiplyInBlocks(const Matrix& m, const void* tiles, int64_t rows, int64_t from, int64_t to, bool add,
                      float* y, int64_t y_stride) {
  const auto* x = static_cast<const typename By::Input*>(tiles);
  int64_t out = from;
  for (; out + kOutsAtOnce <= to; out += kOutsAtOnce)
    MultiplyRows<By, kOutsAtOnce>(m, x, rows, out, add, y, y_stride);
  for (; out < to; ++out) MultiplyRows<By, 1>(m, x, rows, out, add, y, y_stride);
}

// Tiles that are rows of floats, one tile after another.
inline size_t FloatTileBytes(int64_t in) {
  return static_cast<size_t>(kTileRows * in) * sizeof(float);
}
inline void PackFloats(const float* x, int64_t stride, int64_t rows, int64_t, int64_t in, void* tile) {
  for (int64_t r = 0; r < rows; ++r) {
    __builtin_memcpy(static_cast<float*>(tile) + r * in, x + r * stride,
                     static_cast<size_t>(in) * sizeof(float));
  }
}

inline Vec Max(Vec a, Vec b) {
  return a > b ? a : b;
}
inline Vec Min(Vec a, Vec b) {
  return a < b ? a : b;
}

// The Cephes library's expf: 2ⁿ times a polynomial; relative error about 1e-7. Below −87: about 1e-38.
inline Vec Exp(Vec x) {
  x = Min(All(88.0f), Max(All(-87.0f), x));  // of a NaN the second operand comes out
  constexpr float kRound = 12582912;         // 1.5 · 2²³: what is added to it loses its fraction
  const Vec shifted = x * 1.44269504f + kRound;
  const Vec n = shifted - kRound;
  const Vec r = x - n * 0.693359375f + n * 2.12194440e-4f;
  Vec p = All(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  return p * Bits<Vec>((__builtin_convertvector(n, IntVec) + 127) << 23);
}

}  // namespace tritogen::cpu::TRITOGEN_ISA

#endif
