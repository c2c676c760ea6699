// Casts. Every one rounds once, from the source value: sources that f32 cannot hold reach a small format
// through an f32 rounded to odd.
#include "tile/lanes/kernels.h"
#include "tile/lanes/loops.h"

namespace tritogen::tile::lanes::TRITOGEN_ISA {
namespace {

// Integer sources and results as C++ types; i1 apart, because a true one is 1 or -1 by the operation's sign.
struct Bit {};
struct SignedBit {};

template <class T>
struct StorageOf {
  using Type = T;
};
template <>
struct StorageOf<Bit> {
  using Type = uint8_t;
};
template <>
struct StorageOf<SignedBit> {
  using Type = uint8_t;
};
template <class T>
using StorageType = typename StorageOf<T>::Type;

template <class From, class To>
StorageType<To> Convert(StorageType<From> x) {
  constexpr bool kFromFloat = __is_same(From, float) || __is_same(From, double);
  if constexpr (__is_same(To, Bit)) {
    if constexpr (kFromFloat)
      return x >= From(1);
    else
      return x & 1;
  } else if constexpr (__is_same(From, SignedBit)) {
    return static_cast<To>(-static_cast<int>(x));
  } else if constexpr (__is_same(To, SignedBit)) {
    return x <= From(-1);
  } else if constexpr (kFromFloat && !__is_same(To, float) && !__is_same(To, double)) {
    // PTX has no 8-bit integers: what comes out is the low byte of 16.
    if constexpr (sizeof(To) == 1) {
      if constexpr (To(-1) < To(0))
        return static_cast<To>(SaturatingCast<int16_t>(x));
      else
        return static_cast<To>(SaturatingCast<uint16_t>(x));
    } else {
      return SaturatingCast<To>(x);
    }
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void CastLoop(const void* a, void* out, size_t n) {
  const auto* x = static_cast<const StorageType<From>*>(a);
  auto* z = static_cast<StorageType<To>*>(out);
  TRITOGEN_IVDEP
  for (size_t i = 0; i < n; ++i) z[i] = Convert<From, To>(x[i]);
}

template <class To>
void StoreAs(const float* in, void* out, size_t n) {
  CastLoop<float, To>(in, out, n);
}

// f32 that rounds to the same small float as x does.
inline float Sticky(float x) {
  return x;
}
inline float Sticky(double x) {
  return OddFloat(x);
}
inline float Sticky(int8_t x) {
  return x;
}
inline float Sticky(uint8_t x) {
  return x;
}
inline float Sticky(int16_t x) {
  return x;
}
inline float Sticky(uint16_t x) {
  return x;
}
inline float Sticky(int32_t x) {
  return OddFloat(x);
}
inline float Sticky(uint32_t x) {
  return OddFloat(x);
}
inline float Sticky(int64_t x) {
  return OddFloat(OddDouble(x));
}
inline float Sticky(uint64_t x) {
  return OddFloat(OddDouble(x));
}

template <class From>
[[gnu::noinline]] void LoadSticky(const void* a, float* out, size_t n) {
  const auto* x = static_cast<const StorageType<From>*>(a);
  TRITOGEN_IVDEP
  for (size_t i = 0; i < n; ++i) {
    if constexpr (__is_same(From, SignedBit))
      out[i] = static_cast<float>(-static_cast<int>(x[i]));
    else
      out[i] = Sticky(x[i]);
  }
}

using Load = void (*)(const void* in, float* out, size_t n);
using Store = void (*)(const float* in, void* out, size_t n);

template <Load kLoad, size_t kFromBytes, Store kStore, size_t kToBytes>
void CastThroughF32(const void* a, void* out, size_t n) {
  float x[kChunk];
  for (size_t i = 0; i < n; i += kChunk) {
    const size_t count = n - i < kChunk ? n - i : kChunk;
    kLoad(static_cast<const char*>(a) + i * kFromBytes, x, count);
    kStore(x, static_cast<char*>(out) + i * kToBytes, count);
  }
}

// Any source that `kLoad` turns into f32 → small float.
template <Load kLoad, size_t kFromBytes>
UnaryFn ToSmall(Elem to, bool toward_zero) {
#define TRITOGEN_STORE(Format)                                                                         \
  return toward_zero                                                                                   \
             ? &CastThroughF32<kLoad, kFromBytes, &NarrowArray<Format, true>, sizeof(Format::Storage)> \
             : &CastThroughF32<kLoad, kFromBytes, &NarrowArray<Format, false>, sizeof(Format::Storage)>
  switch (to) {
    case Elem::kF16:
      TRITOGEN_STORE(HalfFormat);
    case Elem::kBF16:
      TRITOGEN_STORE(BFloatFormat);
    case Elem::kF8E4M3:
      TRITOGEN_STORE(E4M3Format);
    case Elem::kF8E5M2:
      TRITOGEN_STORE(E5M2Format);
    default:
      return nullptr;
  }
#undef TRITOGEN_STORE
}

void NarrowToF32TowardZero(const void* a, void* out, size_t n) {
  const double* x = static_cast<const double*>(a);
  float* z = static_cast<float*>(out);
  TRITOGEN_IVDEP
  for (size_t i = 0; i < n; ++i) {
    const float nearest = static_cast<float>(x[i]);
    const bool away = __builtin_fabs(static_cast<double>(nearest)) > __builtin_fabs(x[i]);
    z[i] = Bits<float>(Bits<uint32_t>(nearest) - (away ? 1 : 0));
  }
}

template <Load kLoad, size_t kFromBytes>
UnaryFn FromSmallFloat(Elem to, bool toward_zero) {
  if (to == Elem::kF32)
    return [](const void* a, void* out, size_t n) { kLoad(a, static_cast<float*>(out), n); };
  if (to == Elem::kF64) {
    return &CastThroughF32<kLoad, kFromBytes, &StoreAs<double>, 8>;
  }
  return ToSmall<kLoad, kFromBytes>(to, toward_zero);
}

UnaryFn FloatToFloat(Elem from, Elem to, bool toward_zero) {
  switch (from) {
    case Elem::kF16:
      return FromSmallFloat<&WidenArray<HalfFormat>, 2>(to, toward_zero);
    case Elem::kBF16:
      return FromSmallFloat<&WidenArray<BFloatFormat>, 2>(to, toward_zero);
    case Elem::kF8E4M3:
      return FromSmallFloat<&WidenArray<E4M3Format>, 1>(to, toward_zero);
    case Elem::kF8E5M2:
      return FromSmallFloat<&WidenArray<E5M2Format>, 1>(to, toward_zero);
    case Elem::kF32:
      if (to == Elem::kF32) return &CastLoop<float, float>;
      if (to == Elem::kF64) return &CastLoop<float, double>;
      return ToSmall<&LoadSticky<float>, 4>(to, toward_zero);
    case Elem::kF64:
      if (to == Elem::kF32) return toward_zero ? &NarrowToF32TowardZero : &CastLoop<double, float>;
      if (to == Elem::kF64) return &CastLoop<double, double>;
      return ToSmall<&LoadSticky<double>, 8>(to, toward_zero);
    default:
      return nullptr;
  }
}

template <class From>
UnaryFn FromInteger(Elem to) {
  switch (to) {
    case Elem::kI1:
      return &CastLoop<From, Bit>;
    case Elem::kI8:
      return &CastLoop<From, uint8_t>;
    case Elem::kI16:
      return &CastLoop<From, uint16_t>;
    case Elem::kI32:
      return &CastLoop<From, uint32_t>;
    case Elem::kI64:
      return &CastLoop<From, uint64_t>;
    case Elem::kF32:
      return &CastLoop<From, float>;
    case Elem::kF64:
      return &CastLoop<From, double>;
    default:
      return ToSmall<&LoadSticky<From>, sizeof(StorageType<From>)>(to, false);
  }
}

UnaryFn FromAnyInteger(Elem from, Elem to, bool is_signed) {
  switch (from) {
    case Elem::kI1:
      return is_signed && to != Elem::kI1 ? FromInteger<SignedBit>(to) : FromInteger<Bit>(to);
    case Elem::kI8:
      return is_signed ? FromInteger<int8_t>(to) : FromInteger<uint8_t>(to);
    case Elem::kI16:
      return is_signed ? FromInteger<int16_t>(to) : FromInteger<uint16_t>(to);
    case Elem::kI32:
      return is_signed ? FromInteger<int32_t>(to) : FromInteger<uint32_t>(to);
    case Elem::kI64:
      return is_signed ? FromInteger<int64_t>(to) : FromInteger<uint64_t>(to);
    default:
      return nullptr;
  }
}

// Float → integer. Small floats go through f32, which holds them exactly.
template <class To>
UnaryFn ToInteger(Elem from) {
  constexpr size_t kBytes = sizeof(StorageType<To>);
  switch (from) {
    case Elem::kF32:
      return &CastLoop<float, To>;
    case Elem::kF64:
      return &CastLoop<double, To>;
    case Elem::kF16:
      return &CastThroughF32<&WidenArray<HalfFormat>, 2, &StoreAs<To>, kBytes>;
    case Elem::kBF16:
      return &CastThroughF32<&WidenArray<BFloatFormat>, 2, &StoreAs<To>, kBytes>;
    case Elem::kF8E4M3:
      return &CastThroughF32<&WidenArray<E4M3Format>, 1, &StoreAs<To>, kBytes>;
    case Elem::kF8E5M2:
      return &CastThroughF32<&WidenArray<E5M2Format>, 1, &StoreAs<To>, kBytes>;
    default:
      return nullptr;
  }
}

UnaryFn ToAnyInteger(Elem from, Elem to, bool is_signed) {
  switch (to) {
    case Elem::kI1:
      return is_signed ? ToInteger<SignedBit>(from) : ToInteger<Bit>(from);
    case Elem::kI8:
      return is_signed ? ToInteger<int8_t>(from) : ToInteger<uint8_t>(from);
    case Elem::kI16:
      return is_signed ? ToInteger<int16_t>(from) : ToInteger<uint16_t>(from);
    case Elem::kI32:
      return is_signed ? ToInteger<int32_t>(from) : ToInteger<uint32_t>(from);
    case Elem::kI64:
      return is_signed ? ToInteger<int64_t>(from) : ToInteger<uint64_t>(from);
    default:
      return nullptr;
  }
}

bool IsIntegerElem(Elem elem) {
  return elem == Elem::kI1 || elem == Elem::kI8 || elem == Elem::kI16 || elem == Elem::kI32 ||
         elem == Elem::kI64;
}

}  // namespace

UnaryFn FindCast(OpCode code, Elem from, Elem to, bool toward_zero) {
  switch (code) {
    case OpCode::kExtF:
    case OpCode::kTruncF:
    case OpCode::kFpToFp:
      return FloatToFloat(from, to, toward_zero);
    case OpCode::kExtSI:
    case OpCode::kIndexCast:
    case OpCode::kTruncI:
      return IsIntegerElem(to) ? FromAnyInteger(from, to, true) : nullptr;
    case OpCode::kExtUI:
      return IsIntegerElem(to) ? FromAnyInteger(from, to, false) : nullptr;
    case OpCode::kSIToFP:
      return IsIntegerElem(to) ? nullptr : FromAnyInteger(from, to, true);
    case OpCode::kUIToFP:
      return IsIntegerElem(to) ? nullptr : FromAnyInteger(from, to, false);
    case OpCode::kFPToSI:
      return ToAnyInteger(from, to, true);
    case OpCode::kFPToUI:
      return ToAnyInteger(from, to, false);
    default:
      return nullptr;
  }
}

}  // namespace tritogen::tile::lanes::TRITOGEN_ISA
