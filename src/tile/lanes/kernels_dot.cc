// Matrix product of tiles: operands become f32 (or f64) panels in `scratch`, rounded as the precision says,
// and a register-blocked kernel multiplies them. The AVX builds fuse multiply and add; integers of 8 bits are
// exact in f32.
#include "tile/lanes/kernels.h"
#include "tile/lanes/loops.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tritogen::tile::lanes::TRITOGEN_ISA {
namespace {

// --- one register
template <class T>
struct Register;
#if defined(__AVX512F__)
template <>
struct Register<float> {
  using V = __m512;
  static V Load(const float* x) { return _mm512_loadu_ps(x); }
  static V Splat(float x) { return _mm512_set1_ps(x); }
  static V MultiplyAdd(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static void Store(float* x, V v) { _mm512_storeu_ps(x, v); }
};
template <>
struct Register<double> {
  using V = __m512d;
  static V Load(const double* x) { return _mm512_loadu_pd(x); }
  static V Splat(double x) { return _mm512_set1_pd(x); }
  static V MultiplyAdd(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static void Store(double* x, V v) { _mm512_storeu_pd(x, v); }
};
constexpr int kRows = 8;  // of the register block: 8 rows × 2 registers of accumulators
#elif defined(__AVX2__)
template <>
struct Register<float> {
  using V = __m256;
  static V Load(const float* x) { return _mm256_loadu_ps(x); }
  static V Splat(float x) { return _mm256_set1_ps(x); }
  static V MultiplyAdd(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static void Store(float* x, V v) { _mm256_storeu_ps(x, v); }
};
template <>
struct Register<double> {
  using V = __m256d;
  static V Load(const double* x) { return _mm256_loadu_pd(x); }
  static V Splat(double x) { return _mm256_set1_pd(x); }
  static V MultiplyAdd(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  static void Store(double* x, V v) { _mm256_storeu_pd(x, v); }
};
constexpr int kRows = 4;
#else
template <class T>
struct Register {
  using V = T;
  static V Load(const T* x) { return *x; }
  static V Splat(T x) { return x; }
  static V MultiplyAdd(V a, V b, V c) { return a * b + c; }
  static void Store(T* x, V v) { *x = v; }
};
constexpr int kRows = 2;
#endif

template <class T>
constexpr size_t kLanes = sizeof(typename Register<T>::V) / sizeof(T);
template <class T>
constexpr size_t kColumns = 2 * kLanes<T>;  // of the register block and of a panel of b

// c[kBlockRows, columns] += a[kBlockRows, k] · panel[k, kColumns]; row strides in elements.
template <int kBlockRows, class T>
void Micro(const T* a, size_t a_stride, const T* panel, T* c, size_t c_stride, size_t k, size_t columns) {
  using R = Register<T>;
  typename R::V sum[kBlockRows][2];
  for (int r = 0; r < kBlockRows; ++r) sum[r][0] = sum[r][1] = R::Splat(0);
  for (size_t p = 0; p < k; ++p, panel += kColumns<T>) {
    const auto left = R::Load(panel), right = R::Load(panel + kLanes<T>);
#pragma GCC unroll 8
    for (int r = 0; r < kBlockRows; ++r) {
      const auto factor = R::Splat(a[r * a_stride + p]);
      sum[r][0] = R::MultiplyAdd(factor, left, sum[r][0]);
      sum[r][1] = R::MultiplyAdd(factor, right, sum[r][1]);
    }
  }
  for (int r = 0; r < kBlockRows; ++r) {
    T row[kColumns<T>];
    R::Store(row, sum[r][0]);
    R::Store(row + kLanes<T>, sum[r][1]);
    for (size_t j = 0; j < columns; ++j) c[r * c_stride + j] += row[j];
  }
}

// Rows in blocks of kBlockRows, what is left in smaller ones.
template <int kBlockRows, class T>
void MultiplyRows(const T* a, size_t a_stride, const T* panel, T* c, size_t c_stride, size_t m, size_t k,
                  size_t columns) {
  size_t i = 0;
  for (; i + kBlockRows <= m; i += kBlockRows) {
    Micro<kBlockRows>(a + i * a_stride, a_stride, panel, c + i * c_stride, c_stride, k, columns);
  }
  if constexpr (kBlockRows > 1) {
    MultiplyRows<kBlockRows / 2>(a + i * a_stride, a_stride, panel, c + i * c_stride, c_stride, m - i, k,
                                 columns);
  }
}

// --- operands. Part 0 is the operand rounded to the precision's format, part 1 the rounded rest, part 2 the
// rest of that. Where one part is all, nobody rounds: Triton hands float32 to the tensor cores, which cut.
enum class Rounding { kNone, kCut, kTf32, kBfloat };

template <Rounding kRounding, int kPart>
float PartOf(float x) {
  if constexpr (kRounding == Rounding::kNone) {
    return x;
  } else if constexpr (kRounding == Rounding::kCut) {
    static_assert(kPart == 0);
    return CutToTf32(x);
  } else {
    const float head =
        kRounding == Rounding::kTf32 ? NearestTf32(x) : BFloatFormat::Widen(BFloatFormat::Narrow<false>(x));
    if constexpr (kPart == 0)
      return head;
    else
      return PartOf<kRounding, kPart - 1>(x - head);
  }
}

// Reads `n` operands as T.
template <class T>
using ReadFn = void (*)(const void* in, T* out, size_t n);

template <Rounding kRounding, int kPart>
void ReadF32(const void* in, float* out, size_t n) {
  const float* x = static_cast<const float*>(in);
  TRITOGEN_IVDEP
  for (size_t i = 0; i < n; ++i) out[i] = PartOf<kRounding, kPart>(x[i]);
}
template <class From, class T>
void ReadPlain(const void* in, T* out, size_t n) {
  const From* x = static_cast<const From*>(in);
  TRITOGEN_IVDEP
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<T>(x[i]);
}

constexpr size_t kDepth = 256;  // columns of a taken at a time: a panel of b stays in the first-level cache

template <class T>
void PackB(const char* b, size_t elem_bytes, ReadFn<T> read, size_t k, size_t n, T* panels) {
  constexpr size_t kWide = kColumns<T>;
  static_assert(kChunk % kWide == 0);
  T row[kChunk];
  for (size_t p = 0; p < k; ++p) {
    for (size_t j = 0; j < n; j += kChunk) {
      const size_t count = n - j < kChunk ? n - j : kChunk, padded = (count + kWide - 1) / kWide * kWide;
      read(b + (p * n + j) * elem_bytes, row, count);
      for (size_t i = count; i < padded; ++i) row[i] = 0;
      for (size_t i = 0; i < padded; i += kWide)
        __builtin_memcpy(panels + (j + i) * k + p * kWide, row + i, kWide * sizeof(T));
    }
  }
}

// One product of operand parts, added up in a fixed order.
template <class T>
struct Pass {
  ReadFn<T> a, b;
};

// What a dot does with its operands and its sums.
template <class T>
struct Recipe {
  size_t elem_bytes;
  const Pass<T>* passes;
  int pass_count;
  bool a_in_place = false;  // operands are T already, a is not copied
  // Adds the sums of one block (or, if `once`, of the whole dot) to the accumulator; null: sums are made in
  // place.
  void (*merge)(const T* sums, void* acc, size_t n) = nullptr;
  bool once = false;
};

template <class T>
T* Align(void* p) {
  return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(p) + 63) & ~uintptr_t{63});
}

// NaN in the correction terms comes from an infinite operand (inf - inf): the leading product alone decides
// there.
template <class T>
void DropNan(T* sums, size_t n) {
  for (size_t i = 0; i < n; ++i) sums[i] = sums[i] == sums[i] ? sums[i] : T(0);
}

template <class T>
void Dot(const Recipe<T>& recipe, const void* a, const void* b, void* acc, DotShape shape, void* scratch) {
  const auto [m, n, k] = shape;
  const size_t depth = k < kDepth ? k : kDepth, bytes = recipe.elem_bytes;
  T* panels = Align<T>(scratch);
  T* rows = Align<T>(panels + depth * (n + kColumns<T>));
  T* sums =
      recipe.merge == nullptr ? static_cast<T*>(acc) : Align<T>(rows + (recipe.a_in_place ? 0 : m * depth));
  if (recipe.once) __builtin_memset(sums, 0, m * n * sizeof(T));
  for (size_t p = 0; p < k; p += kDepth) {
    const size_t block = k - p < kDepth ? k - p : kDepth;
    if (recipe.merge != nullptr && !recipe.once) __builtin_memset(sums, 0, m * n * sizeof(T));
    for (int pass = 0; pass < recipe.pass_count; ++pass) {
      const auto* a_block = static_cast<const char*>(a) + p * bytes;
      const T* left = reinterpret_cast<const T*>(a_block);
      if (!recipe.a_in_place) {
        for (size_t i = 0; i < m; ++i)
          recipe.passes[pass].a(a_block + i * k * bytes, rows + i * block, block);
        left = rows;
      }
      PackB<T>(static_cast<const char*>(b) + p * n * bytes, bytes, recipe.passes[pass].b, block, n, panels);
      if (recipe.pass_count > 1 && pass == recipe.pass_count - 1) DropNan(sums, m * n);
      for (size_t j = 0; j < n; j += kColumns<T>) {
        const size_t columns = n - j < kColumns<T> ? n - j : kColumns<T>;
        MultiplyRows<kRows, T>(left, recipe.a_in_place ? k : block, panels + j * block, sums + j, n, m, block,
                               columns);
      }
    }
    if (recipe.merge != nullptr && !recipe.once) recipe.merge(sums, acc, m * n);
  }
  if (recipe.once) recipe.merge(sums, acc, m * n);
}

void MergeF32(const float* sums, void* acc, size_t n) {
  float* c = static_cast<float*>(acc);
  for (size_t i = 0; i < n; ++i) c[i] += sums[i];
}
void MergeI32(const float* sums, void* acc, size_t n) {
  auto* c = static_cast<uint32_t*>(acc);
  for (size_t i = 0; i < n; ++i) c[i] += static_cast<uint32_t>(static_cast<int32_t>(sums[i]));
}
void MergeF16(const float* sums, void* acc, size_t n) {
  auto* c = static_cast<uint16_t*>(acc);
  for (size_t i = 0; i < n; ++i) c[i] = HalfFormat::Narrow<false>(HalfFormat::Widen(c[i]) + sums[i]);
}

// --- the recipes. Passes stand from the smallest products to the largest, as Triton emits them.
template <class T, ReadFn<T> kRead>
constexpr Pass<T> kSingle[] = {{kRead, kRead}};
template <Rounding kRounding, int kA, int kB>
constexpr Pass<float> kParts = {&ReadF32<kRounding, kA>, &ReadF32<kRounding, kB>};

constexpr Pass<float> kTf32x3Passes[] = {kParts<Rounding::kTf32, 1, 0>, kParts<Rounding::kTf32, 0, 1>,
                                         kParts<Rounding::kTf32, 0, 0>};
constexpr Pass<float> kBf16x3Passes[] = {kParts<Rounding::kBfloat, 1, 0>, kParts<Rounding::kBfloat, 0, 1>,
                                         kParts<Rounding::kBfloat, 0, 0>};
constexpr Pass<float> kBf16x6Passes[] = {kParts<Rounding::kBfloat, 1, 1>, kParts<Rounding::kBfloat, 2, 0>,
                                         kParts<Rounding::kBfloat, 0, 2>, kParts<Rounding::kBfloat, 1, 0>,
                                         kParts<Rounding::kBfloat, 0, 1>, kParts<Rounding::kBfloat, 0, 0>};

constexpr Recipe<float> kIeee = {4, kSingle<float, &ReadPlain<float, float>>, 1, true};
constexpr Recipe<float> kTf32 = {4, kSingle<float, &ReadF32<Rounding::kCut, 0>>, 1};
constexpr Recipe<float> kTf32x3 = {4, kTf32x3Passes, 3, false, &MergeF32};
constexpr Recipe<float> kBf16x3 = {4, kBf16x3Passes, 3, false, &MergeF32};
constexpr Recipe<float> kBf16x6 = {4, kBf16x6Passes, 6, false, &MergeF32};
constexpr Recipe<double> kF64 = {8, kSingle<double, &ReadPlain<double, double>>, 1, true};
constexpr Recipe<float> kI8 = {1, kSingle<float, &ReadPlain<int8_t, float>>, 1, false, &MergeI32};
template <class Format>
constexpr Recipe<float> kSmall = {sizeof(typename Format::Storage), kSingle<float, &WidenArray<Format>>, 1};
template <class Format>
constexpr Recipe<float> kSmallToHalf = {
    sizeof(typename Format::Storage), kSingle<float, &WidenArray<Format>>, 1, false, &MergeF16, true};

template <class T, const Recipe<T>& kRecipe>
void DotOf(const void* a, const void* b, void* acc, DotShape shape, void* scratch) {
  Dot<T>(kRecipe, a, b, acc, shape, scratch);
}

template <class Format>
DotFn SmallDot(Elem out) {
  if (out == Elem::kF32) return &DotOf<float, kSmall<Format>>;
  return out == Elem::kF16 ? &DotOf<float, kSmallToHalf<Format>> : nullptr;
}

DotFn F32Dot(DotPrecision precision) {
  switch (precision) {
    case DotPrecision::kIeee:
      return &DotOf<float, kIeee>;
    case DotPrecision::kTf32:
      return &DotOf<float, kTf32>;
    case DotPrecision::kTf32x3:
      return &DotOf<float, kTf32x3>;
    case DotPrecision::kBf16x3:
      return &DotOf<float, kBf16x3>;
    case DotPrecision::kBf16x6:
      return &DotOf<float, kBf16x6>;
  }
  return nullptr;
}

}  // namespace

DotFn FindDot(Elem in, Elem out, DotPrecision precision) {
  switch (in) {
    case Elem::kF32:
      return out == Elem::kF32 ? F32Dot(precision) : nullptr;
    case Elem::kF64:
      return out == Elem::kF64 ? &DotOf<double, kF64> : nullptr;
    case Elem::kI8:
      return out == Elem::kI32 ? &DotOf<float, kI8> : nullptr;
    case Elem::kF16:
      return SmallDot<HalfFormat>(out);
    case Elem::kBF16:
      return out == Elem::kF32 ? SmallDot<BFloatFormat>(out) : nullptr;
    case Elem::kF8E4M3:
      return SmallDot<E4M3Format>(out);
    case Elem::kF8E5M2:
      return SmallDot<E5M2Format>(out);
    default:
      return nullptr;
  }
}

}  // namespace tritogen::tile::lanes::TRITOGEN_ISA
