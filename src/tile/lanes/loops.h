// Internal to lanes: operations of ops.h as loops over arrays. Compiled per instruction set.
#pragma once

#include "tile/lanes/ops.h"

namespace tritogen::tile::lanes::TRITOGEN_ISA {

template <class Op, class T>
void UnaryLoop(const void* a, void* out, size_t n) {
  const T* x = static_cast<const T*>(a);
  T* z = static_cast<T*>(out);
  TRITOGEN_IVDEP
  for (size_t i = 0; i < n; ++i) z[i] = Op::Apply(x[i]);
}

template <class Op, class T, class R>
[[gnu::noinline]] void LoopVV(const void* a, const void* b, void* out, size_t n) {
  const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
  R* z = static_cast<R*>(out);
  TRITOGEN_IVDEP
  for (size_t i = 0; i < n; ++i) z[i] = Op::Apply(x[i], y[i]);
}
template <class Op, class T, class R>
[[gnu::noinline]] void LoopVS(const void* a, const void* b, void* out, size_t n) {
  const T *x = static_cast<const T*>(a), y = *static_cast<const T*>(b);
  R* z = static_cast<R*>(out);
  TRITOGEN_IVDEP
  for (size_t i = 0; i < n; ++i) z[i] = Op::Apply(x[i], y);
}
template <class Op, class T, class R>
[[gnu::noinline]] void LoopSV(const void* a, const void* b, void* out, size_t n) {
  const T x = *static_cast<const T*>(a), *y = static_cast<const T*>(b);
  R* z = static_cast<R*>(out);
  TRITOGEN_IVDEP
  for (size_t i = 0; i < n; ++i) z[i] = Op::Apply(x, y[i]);
}
template <class Op, class T, class R = T>
BinaryFn BinaryLoops() {
  return {&LoopVV<Op, T, R>, &LoopVS<Op, T, R>, &LoopSV<Op, T, R>};
}

template <class Op, class T>
[[gnu::noinline]] void TernaryLoop(const void* a, const void* b, const void* c, void* out, size_t n) {
  const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b), *w = static_cast<const T*>(c);
  T* z = static_cast<T*>(out);
  TRITOGEN_IVDEP
  for (size_t i = 0; i < n; ++i) z[i] = Op::Apply(x[i], y[i], w[i]);
}

// Small formats work on f32 copies of kChunk lanes that stay in the first-level cache.
inline constexpr size_t kChunk = 256;

template <class Format>
const void* Advance(const void* array, size_t i) {
  return static_cast<const typename Format::Storage*>(array) + i;
}
template <class Format>
void* Advance(void* array, size_t i) {
  return static_cast<typename Format::Storage*>(array) + i;
}

template <class Format, UnaryFn kF32>
void SmallUnary(const void* a, void* out, size_t n) {
  float x[kChunk];
  for (size_t i = 0; i < n; i += kChunk) {
    const size_t count = n - i < kChunk ? n - i : kChunk;
    WidenArray<Format>(Advance<Format>(a, i), x, count);
    kF32(x, x, count);
    NarrowArray<Format>(x, Advance<Format>(out, i), count);
  }
}

// kA, kB: whether the operand is an array or one element. kCompare: the result is i1 instead of Format.
template <class Format, class Op, bool kA, bool kB, bool kCompare>
void SmallBinary(const void* a, const void* b, void* out, size_t n) {
  float x[kChunk], y[kChunk];
  if (!kA) WidenArray<Format>(a, x, 1);
  if (!kB) WidenArray<Format>(b, y, 1);
  for (size_t i = 0; i < n; i += kChunk) {
    const size_t count = n - i < kChunk ? n - i : kChunk;
    if (kA) WidenArray<Format>(Advance<Format>(a, i), x, count);
    if (kB) WidenArray<Format>(Advance<Format>(b, i), y, count);
    using Result = decltype(Op::Apply(0.0f, 0.0f));
    constexpr auto kLoop = kA && kB ? &LoopVV<Op, float, Result>
                           : kA     ? &LoopVS<Op, float, Result>
                                    : &LoopSV<Op, float, Result>;
    if constexpr (kCompare) {
      kLoop(x, y, static_cast<uint8_t*>(out) + i, count);
    } else {
      float z[kChunk];
      kLoop(x, y, z, count);
      NarrowArray<Format>(z, Advance<Format>(out, i), count);
    }
  }
}
template <class Format, class Op, bool kCompare = false>
BinaryFn SmallLoops() {
  return {&SmallBinary<Format, Op, true, true, kCompare>, &SmallBinary<Format, Op, true, false, kCompare>,
          &SmallBinary<Format, Op, false, true, kCompare>};
}

template <class Format, class Op>
void SmallTernary(const void* a, const void* b, const void* c, void* out, size_t n) {
  float x[kChunk], y[kChunk], w[kChunk];
  for (size_t i = 0; i < n; i += kChunk) {
    const size_t count = n - i < kChunk ? n - i : kChunk;
    WidenArray<Format>(Advance<Format>(a, i), x, count);
    WidenArray<Format>(Advance<Format>(b, i), y, count);
    WidenArray<Format>(Advance<Format>(c, i), w, count);
    TernaryLoop<Op, float>(x, y, w, x, count);
    NarrowArray<Format>(x, Advance<Format>(out, i), count);
  }
}

}  // namespace tritogen::tile::lanes::TRITOGEN_ISA
