// Internal to lanes: the vector functions of glibc's libmvec, declared by their ABI names, and loops over
// arrays that call them. TRITOGEN_VECTOR_MATH is defined where this build has them (an AVX build, and a C
// library that passed the check in folder.cmake); elsewhere this header is empty.
#pragma once

#if defined(TRITOGEN_HAVE_MVEC) && defined(__AVX2__)
#define TRITOGEN_VECTOR_MATH 1

#include <immintrin.h>

#include "tile/lanes/isa.h"

#define TRITOGEN_MVEC_UNARY(X)                                                                              \
  X(acos)                                                                                                   \
  X(acosh)                                                                                                  \
  X(asin)                                                                                                   \
  X(asinh) X(atan) X(atanh) X(cbrt) X(cos) X(cosh) X(erfc) X(exp) X(exp10) X(exp2) X(expm1) X(log) X(log10) \
      X(log1p) X(log2) X(sin) X(sinh) X(tan)
// Of float they are computed in double: 4 ulp of -1 are too many where 1 is added, as GELU does; a GPU has 2.
#define TRITOGEN_MVEC_SATURATING(X) X(erf) X(tanh)
#define TRITOGEN_MVEC_BINARY(X) X(atan2) X(hypot) X(pow)

#if defined(__AVX512F__)
#define TRITOGEN_DECLARE_UNARY(name)             \
  extern "C" __m512 _ZGVeN16v_##name##f(__m512); \
  extern "C" __m512d _ZGVeN8v_##name(__m512d);
#define TRITOGEN_DECLARE_BINARY(name)                     \
  extern "C" __m512 _ZGVeN16vv_##name##f(__m512, __m512); \
  extern "C" __m512d _ZGVeN8vv_##name(__m512d, __m512d);
#define TRITOGEN_NAME_F32(v, name) _ZGVeN16##v##_##name##f
#define TRITOGEN_NAME_F64(v, name) _ZGVeN8##v##_##name
#else
#define TRITOGEN_DECLARE_UNARY(name)            \
  extern "C" __m256 _ZGVdN8v_##name##f(__m256); \
  extern "C" __m256d _ZGVdN4v_##name(__m256d);
#define TRITOGEN_DECLARE_BINARY(name)                    \
  extern "C" __m256 _ZGVdN8vv_##name##f(__m256, __m256); \
  extern "C" __m256d _ZGVdN4vv_##name(__m256d, __m256d);
#define TRITOGEN_NAME_F32(v, name) _ZGVdN8##v##_##name##f
#define TRITOGEN_NAME_F64(v, name) _ZGVdN4##v##_##name
#endif
TRITOGEN_MVEC_UNARY(TRITOGEN_DECLARE_UNARY)
TRITOGEN_MVEC_SATURATING(TRITOGEN_DECLARE_UNARY)
TRITOGEN_MVEC_BINARY(TRITOGEN_DECLARE_BINARY)

namespace tritogen::tile::lanes::TRITOGEN_ISA {

// One register of float or double: how to move it, and its functions.
template <class T>
struct Vectors;

#define TRITOGEN_MEMBER_F32_1(name)       \
  static V name(V x) {                    \
    return TRITOGEN_NAME_F32(v, name)(x); \
  }
#define TRITOGEN_MEMBER_BY_F64(name)                       \
  static V name(V x) {                                     \
    const auto low = TRITOGEN_NAME_F64(v, name)(Low(x));   \
    return Join(low, TRITOGEN_NAME_F64(v, name)(High(x))); \
  }
#define TRITOGEN_MEMBER_F64_1(name)       \
  static V name(V x) {                    \
    return TRITOGEN_NAME_F64(v, name)(x); \
  }
#define TRITOGEN_MEMBER_F32_2(name)           \
  static V name(V x, V y) {                   \
    return TRITOGEN_NAME_F32(vv, name)(x, y); \
  }
#define TRITOGEN_MEMBER_F64_2(name)           \
  static V name(V x, V y) {                   \
    return TRITOGEN_NAME_F64(vv, name)(x, y); \
  }

template <>
struct Vectors<float> {
  using T = float;
#if defined(__AVX512F__)
  using V = __m512;
  static V Load(const float* x) {
    return _mm512_loadu_ps(x);
  }
  static void Store(float* x, V v) {
    _mm512_storeu_ps(x, v);
  }
  // Halves as double, and back.
  static __m512d Low(V x) {
    return _mm512_cvtps_pd(_mm512_castps512_ps256(x));
  }
  static __m512d High(V x) {
    return _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1)));
  }
  static V Join(__m512d low, __m512d high) {
    const __m512d first = _mm512_castpd256_pd512(_mm256_castps_pd(_mm512_cvtpd_ps(low)));
    return _mm512_castpd_ps(_mm512_insertf64x4(first, _mm256_castps_pd(_mm512_cvtpd_ps(high)), 1));
  }
#else
  using V = __m256;
  static V Load(const float* x) {
    return _mm256_loadu_ps(x);
  }
  static void Store(float* x, V v) {
    _mm256_storeu_ps(x, v);
  }
  static __m256d Low(V x) {
    return _mm256_cvtps_pd(_mm256_castps256_ps128(x));
  }
  static __m256d High(V x) {
    return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
  }
  static V Join(__m256d low, __m256d high) {
    return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
  }
#endif
  TRITOGEN_MVEC_UNARY(TRITOGEN_MEMBER_F32_1)
  TRITOGEN_MVEC_SATURATING(TRITOGEN_MEMBER_BY_F64)
  TRITOGEN_MVEC_BINARY(TRITOGEN_MEMBER_F32_2)
};

template <>
struct Vectors<double> {
  using T = double;
#if defined(__AVX512F__)
  using V = __m512d;
  static V Load(const double* x) {
    return _mm512_loadu_pd(x);
  }
  static void Store(double* x, V v) {
    _mm512_storeu_pd(x, v);
  }
#else
  using V = __m256d;
  static V Load(const double* x) {
    return _mm256_loadu_pd(x);
  }
  static void Store(double* x, V v) {
    _mm256_storeu_pd(x, v);
  }
#endif
  TRITOGEN_MVEC_UNARY(TRITOGEN_MEMBER_F64_1)
  TRITOGEN_MVEC_SATURATING(TRITOGEN_MEMBER_F64_1)
  TRITOGEN_MVEC_BINARY(TRITOGEN_MEMBER_F64_2)
};

// Lanes of a last, partial register are filled up with ones, where no function takes a slow path.
template <class Vec, typename Vec::V (*kFunction)(typename Vec::V)>
void VectorUnary(const void* a, void* out, size_t n) {
  using T = typename Vec::T;
  constexpr size_t kLanes = sizeof(typename Vec::V) / sizeof(T);
  const T* x = static_cast<const T*>(a);
  T* z = static_cast<T*>(out);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Vec::Store(z + i, kFunction(Vec::Load(x + i)));
  if (i == n) return;
  T rest[kLanes];
  for (size_t j = 0; j < kLanes; ++j) rest[j] = i + j < n ? x[i + j] : T(1);
  Vec::Store(rest, kFunction(Vec::Load(rest)));
  for (size_t j = 0; i + j < n; ++j) z[i + j] = rest[j];
}

template <class Vec, typename Vec::V (*kFunction)(typename Vec::V, typename Vec::V)>
void VectorExtern2(const void* const* operands, void* out, size_t n) {
  using T = typename Vec::T;
  constexpr size_t kLanes = sizeof(typename Vec::V) / sizeof(T);
  const T *x = static_cast<const T*>(operands[0]), *y = static_cast<const T*>(operands[1]);
  T* z = static_cast<T*>(out);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Vec::Store(z + i, kFunction(Vec::Load(x + i), Vec::Load(y + i)));
  if (i == n) return;
  T rest_x[kLanes], rest_y[kLanes];
  for (size_t j = 0; j < kLanes; ++j) {
    rest_x[j] = i + j < n ? x[i + j] : T(1);
    rest_y[j] = i + j < n ? y[i + j] : T(1);
  }
  Vec::Store(rest_x, kFunction(Vec::Load(rest_x), Vec::Load(rest_y)));
  for (size_t j = 0; i + j < n; ++j) z[i + j] = rest_x[j];
}

template <UnaryFn kUnary>
void VectorExtern1(const void* const* operands, void* out, size_t n) {
  kUnary(operands[0], out, n);
}

}  // namespace tritogen::tile::lanes::TRITOGEN_ISA

#endif
