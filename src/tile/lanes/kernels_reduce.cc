// Reductions and scans. Both combine in a tree, whose shape depends on the sizes only: every build gives the
// same bits.
#include "tile/lanes/kernels.h"
#include "tile/lanes/loops.h"

namespace tritogen::tile::lanes::TRITOGEN_ISA {
namespace {

// How elements of an array become operands: as they are, or small floats as f32 rounded after every step.
template <class T>
struct Plain {
  using Storage = T;
  using Value = T;
  static void Load(const T* in, T* out, size_t n) { __builtin_memcpy(out, in, n * sizeof(T)); }
  static void Store(const T* in, T* out, size_t n) { __builtin_memcpy(out, in, n * sizeof(T)); }
  static void Round(T*, size_t) {}
};
template <class Format>
struct Small {
  using Storage = typename Format::Storage;
  using Value = float;
  static void Load(const Storage* in, float* out, size_t n) { WidenArray<Format>(in, out, n); }
  static void Store(const float* in, Storage* out, size_t n) { NarrowArray<Format>(in, out, n); }
  static void Round(float* x, size_t n) {
    for (size_t i = 0; i < n; ++i) x[i] = Format::Widen(Format::template Narrow<false>(x[i]));
  }
};

inline constexpr size_t kWidth = 64;    // lanes reduced side by side
inline constexpr size_t kLeafRows = 8;  // rows added one after another before the tree starts
inline constexpr size_t kLevels = 48;   // of the tree: enough for any array

// What a reduction knows of its operation; the rest is shared by all operations on one kind of element.
template <class Kind>
struct Steps {
  using Value = typename Kind::Value;
  void (*leaf)(const typename Kind::Storage* in, size_t rows, size_t stride, size_t width, Value* out);
  void (*combine)(Value* x, const Value* y, size_t n);  // x[i] = op(x[i], y[i])
  void (*fold)(Value* lanes, size_t width);             // width a power of two, halved down to lanes[0]
};

template <class Op, class Kind, class T = typename Kind::Value>
void Combine(T* x, const T* y, size_t n) {
  TRITOGEN_IVDEP
  for (size_t i = 0; i < n; ++i) x[i] = Op::Apply(x[i], y[i]);
  Kind::Round(x, n);
}

// At most kLeafRows rows, one after another.
template <class Op, class Kind, class T = typename Kind::Value>
void Leaf(const typename Kind::Storage* in, size_t rows, size_t stride, size_t width, T* out) {
  if constexpr (__is_same(T, typename Kind::Storage)) {
    if (rows == kLeafRows) {
      TRITOGEN_IVDEP
      for (size_t i = 0; i < width; ++i) {
        T sum = in[i];
        for (size_t r = 1; r < kLeafRows; ++r) sum = Op::Apply(sum, in[r * stride + i]);
        out[i] = sum;
      }
      return;
    }
  }
  T row[kWidth];
  Kind::Load(in, out, width);
  for (size_t r = 1; r < rows; ++r) {
    Kind::Load(in + r * stride, row, width);
    Combine<Op, Kind>(out, row, width);
  }
}

// Halves of a size known to the compiler.
template <class Op, class Kind, size_t kHalf, class T = typename Kind::Value>
void FoldFrom(T* lanes, size_t width) {
  if (width > kHalf) {
    for (size_t i = 0; i < kHalf; ++i) lanes[i] = Op::Apply(lanes[i], lanes[i + kHalf]);
    Kind::Round(lanes, kHalf);
  }
  if constexpr (kHalf > 1) FoldFrom<Op, Kind, kHalf / 2>(lanes, width);
}

// Rows of `width` ≤ kWidth lanes that start `stride` elements apart: leaves, merged like the carries of a
// binary counter.
template <class Kind>
void ReduceRows(const Steps<Kind>& steps, const typename Kind::Storage* in, size_t rows, size_t stride,
                size_t width, typename Kind::Value* out) {
  if (rows <= kLeafRows) return steps.leaf(in, rows, stride, width, out);
  typename Kind::Value levels[kLevels][kWidth];
  size_t depth = 0;
  for (size_t leaf = 0; leaf * kLeafRows < rows; ++leaf) {
    const size_t first = leaf * kLeafRows, count = rows - first < kLeafRows ? rows - first : kLeafRows;
    steps.leaf(in + first * stride, count, stride, width, levels[depth++]);
    for (size_t carry = leaf + 1; carry % 2 == 0; carry /= 2) {
      --depth;
      steps.combine(levels[depth - 1], levels[depth], width);
    }
  }
  for (; depth > 1; --depth) steps.combine(levels[depth - 2], levels[depth - 1], width);
  __builtin_memcpy(out, levels[0], width * sizeof(out[0]));
}

// One contiguous row → one element: as leaves of kLeafRows rows with a power of two of lanes, which are then
// folded.
template <class Kind>
void ReduceRow(const Steps<Kind>& steps, const typename Kind::Storage* in, size_t n,
               typename Kind::Storage* out) {
  typename Kind::Value lanes[kWidth];
  size_t width = 1;
  while (width < kWidth && 2 * width * kLeafRows <= n) width *= 2;
  const size_t rows = n / width, rest = n % width;
  ReduceRows(steps, in, rows, width, width, lanes);
  if (rest > 0) {
    typename Kind::Value tail[kWidth];
    Kind::Load(in + rows * width, tail, rest);
    steps.combine(lanes, tail, rest);
  }
  steps.fold(lanes, width);
  Kind::Store(lanes, out, 1);
}

template <class Kind>
void ReduceArray(const Steps<Kind>& steps, const void* in, void* out, size_t outer, size_t axis,
                 size_t inner) {
  const auto* x = static_cast<const typename Kind::Storage*>(in);
  auto* z = static_cast<typename Kind::Storage*>(out);
  for (size_t o = 0; o < outer; ++o, x += axis * inner, z += inner) {
    if (inner == 1) {
      ReduceRow(steps, x, axis, z);
      continue;
    }
    for (size_t i = 0; i < inner; i += kWidth) {
      typename Kind::Value lanes[kWidth];
      const size_t width = inner - i < kWidth ? inner - i : kWidth;
      ReduceRows(steps, x + i, axis, inner, width, lanes);
      Kind::Store(lanes, z + i, width);
    }
  }
}

template <class Op, class Kind>
void Reduce(const void* in, void* out, size_t outer, size_t axis, size_t inner) {
  ReduceArray<Kind>({&Leaf<Op, Kind>, &Combine<Op, Kind>, &FoldFrom<Op, Kind, kWidth / 2>}, in, out, outer,
                    axis, inner);
}

template <class Op>
ReduceFn OnIntegers(Elem elem) {
  switch (elem) {
    case Elem::kI8:
      return &Reduce<Op, Plain<uint8_t>>;
    case Elem::kI16:
      return &Reduce<Op, Plain<uint16_t>>;
    case Elem::kI32:
      return &Reduce<Op, Plain<uint32_t>>;
    case Elem::kI64:
      return &Reduce<Op, Plain<uint64_t>>;
    default:
      return nullptr;
  }
}
template <class Op>
ReduceFn OnFloats(Elem elem) {
  switch (elem) {
    case Elem::kF16:
      return &Reduce<Op, Small<HalfFormat>>;
    case Elem::kBF16:
      return &Reduce<Op, Small<BFloatFormat>>;
    case Elem::kF32:
      return &Reduce<Op, Plain<float>>;
    case Elem::kF64:
      return &Reduce<Op, Plain<double>>;
    default:
      return nullptr;
  }
}

ReduceFn OnBits(OpCode code) {
  switch (code) {
    case OpCode::kAddI:
    case OpCode::kXorI:
      return &Reduce<XorI, Plain<uint8_t>>;
    case OpCode::kMulI:
    case OpCode::kAndI:
    case OpCode::kMaxSI:
    case OpCode::kMinUI:
      return &Reduce<AndI, Plain<uint8_t>>;
    case OpCode::kOrI:
    case OpCode::kMinSI:
    case OpCode::kMaxUI:
      return &Reduce<OrI, Plain<uint8_t>>;
    default:
      return nullptr;
  }
}

// In place, by doubling distances: after the pass of distance d every element covers 2d elements. Chunks are
// taken against the direction of the scan, so that a pass reads only what it has not yet written.
template <OpCode kCode, Elem kElem, size_t kBytes>
void Scan(const void* in, void* out, size_t outer, size_t axis, size_t inner, bool reverse) {
  const auto combine = FindBinary(kCode, kElem).vv;
  const size_t length = axis * inner;
  if (in != out) __builtin_memmove(out, in, outer * length * kBytes);
  char* row = static_cast<char*>(out);
  for (size_t o = 0; o < outer; ++o, row += length * kBytes) {
    for (size_t shift = inner; shift < length; shift *= 2) {
      const size_t moved = length - shift;  // elements that have one at `shift` before them
      for (size_t done = 0; done < moved; done += kChunk) {
        const size_t count = moved - done < kChunk ? moved - done : kChunk;
        const size_t target = reverse ? done : length - done - count;
        alignas(64) char running[kChunk * kBytes];
        __builtin_memcpy(running, row + (reverse ? target + shift : target - shift) * kBytes, count * kBytes);
        combine(running, row + target * kBytes, row + target * kBytes, count);
      }
    }
  }
}

template <OpCode kCode>
ScanFn ScanOf(Elem elem) {
  switch (elem) {
    case Elem::kI1:
      return &Scan<kCode, Elem::kI1, 1>;
    case Elem::kI8:
      return &Scan<kCode, Elem::kI8, 1>;
    case Elem::kI16:
      return &Scan<kCode, Elem::kI16, 2>;
    case Elem::kI32:
      return &Scan<kCode, Elem::kI32, 4>;
    case Elem::kI64:
      return &Scan<kCode, Elem::kI64, 8>;
    case Elem::kF16:
      return &Scan<kCode, Elem::kF16, 2>;
    case Elem::kBF16:
      return &Scan<kCode, Elem::kBF16, 2>;
    case Elem::kF32:
      return &Scan<kCode, Elem::kF32, 4>;
    case Elem::kF64:
      return &Scan<kCode, Elem::kF64, 8>;
    default:
      return nullptr;
  }
}

}  // namespace

ReduceFn FindReduce(OpCode code, Elem elem) {
  if (elem == Elem::kI1) return OnBits(code);
  switch (code) {
    case OpCode::kAddI:
      return OnIntegers<AddI>(elem);
    case OpCode::kMulI:
      return OnIntegers<MulI>(elem);
    case OpCode::kAndI:
      return OnIntegers<AndI>(elem);
    case OpCode::kOrI:
      return OnIntegers<OrI>(elem);
    case OpCode::kXorI:
      return OnIntegers<XorI>(elem);
    case OpCode::kMinSI:
      return OnIntegers<MinSI>(elem);
    case OpCode::kMaxSI:
      return OnIntegers<MaxSI>(elem);
    case OpCode::kMinUI:
      return OnIntegers<MinUI>(elem);
    case OpCode::kMaxUI:
      return OnIntegers<MaxUI>(elem);
    case OpCode::kAddF:
      return OnFloats<AddF>(elem);
    case OpCode::kMulF:
      return OnFloats<MulF>(elem);
    case OpCode::kMinNumF:
      return OnFloats<MinNumF>(elem);
    case OpCode::kMaxNumF:
      return OnFloats<MaxNumF>(elem);
    case OpCode::kMinimumF:
      return OnFloats<MinimumF>(elem);
    case OpCode::kMaximumF:
      return OnFloats<MaximumF>(elem);
    default:
      return nullptr;
  }
}

ScanFn FindScan(OpCode code, Elem elem) {
  if (FindReduce(code, elem) == nullptr) return nullptr;
  switch (code) {
    case OpCode::kAddI:
      return ScanOf<OpCode::kAddI>(elem);
    case OpCode::kMulI:
      return ScanOf<OpCode::kMulI>(elem);
    case OpCode::kAndI:
      return ScanOf<OpCode::kAndI>(elem);
    case OpCode::kOrI:
      return ScanOf<OpCode::kOrI>(elem);
    case OpCode::kXorI:
      return ScanOf<OpCode::kXorI>(elem);
    case OpCode::kMinSI:
      return ScanOf<OpCode::kMinSI>(elem);
    case OpCode::kMaxSI:
      return ScanOf<OpCode::kMaxSI>(elem);
    case OpCode::kMinUI:
      return ScanOf<OpCode::kMinUI>(elem);
    case OpCode::kMaxUI:
      return ScanOf<OpCode::kMaxUI>(elem);
    case OpCode::kAddF:
      return ScanOf<OpCode::kAddF>(elem);
    case OpCode::kMulF:
      return ScanOf<OpCode::kMulF>(elem);
    case OpCode::kMinNumF:
      return ScanOf<OpCode::kMinNumF>(elem);
    case OpCode::kMaxNumF:
      return ScanOf<OpCode::kMaxNumF>(elem);
    case OpCode::kMinimumF:
      return ScanOf<OpCode::kMinimumF>(elem);
    case OpCode::kMaximumF:
      return ScanOf<OpCode::kMaximumF>(elem);
    default:
      return nullptr;
  }
}

}  // namespace tritogen::tile::lanes::TRITOGEN_ISA
