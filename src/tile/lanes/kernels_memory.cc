// Pointer tiles, masks and shadow cells. Loops are written so that the compiler vectorises them: searches
// test whole blocks and look closer only at the block that differs.
#include "tile/lanes/isa.h"
#include "tile/lanes/memory.h"
#include "tile/lanes/word.h"
#include "tile/pointer.h"

namespace tritogen::tile::lanes::TRITOGEN_ISA {
namespace {

constexpr size_t kBlock = 64;
constexpr uint64_t kFar = uint64_t{1} << (kOffsetBits - 2);  // elements

template <class Offset, size_t kPointerStep, size_t kOffsetStep>
void AddPointers(const uint64_t* p, const void* offsets, int64_t scale, uint64_t* out, size_t n) {
  const Offset* offset = static_cast<const Offset*>(offsets);
  TRITOGEN_IVDEP
  for (size_t i = 0; i < n; ++i) {
    const uint64_t from = p[i * kPointerStep];
    const int64_t steps = static_cast<int64_t>(offset[i * kOffsetStep]);
    const uint64_t to = from + static_cast<uint64_t>(steps) * static_cast<uint64_t>(scale);
    // Far offsets must not come back into the window by wrapping round.
    const bool far = sizeof(Offset) == 8 && ((static_cast<uint64_t>(steps) + kFar) >> (kOffsetBits - 1)) != 0;
    out[i] = ((from ^ to) >> kOffsetBits) == 0 && !far ? to : kWildPointer;
  }
}

template <class Offset>
void AddPointersOf(const uint64_t* p, size_t p_step, const void* offset, size_t offset_step, int64_t scale,
                   uint64_t* out, size_t n) {
  if (p_step == 0) return AddPointers<Offset, 0, 1>(p, offset, scale, out, n);
  if (offset_step == 0) return AddPointers<Offset, 1, 0>(p, offset, scale, out, n);
  AddPointers<Offset, 1, 1>(p, offset, scale, out, n);
}

void AddPtr(const uint64_t* p, size_t p_step, const void* offset, size_t offset_step, Elem elem,
            int64_t scale, uint64_t* out, size_t n) {
  switch (elem) {
    case Elem::kI8:
      return AddPointersOf<int8_t>(p, p_step, offset, offset_step, scale, out, n);
    case Elem::kI16:
      return AddPointersOf<int16_t>(p, p_step, offset, offset_step, scale, out, n);
    case Elem::kI32:
      return AddPointersOf<int32_t>(p, p_step, offset, offset_step, scale, out, n);
    default:
      return AddPointersOf<int64_t>(p, p_step, offset, offset_step, scale, out, n);
  }
}

PointerRange Range(const uint64_t* p, const uint8_t* mask, size_t n) {
  uint64_t min = ~uint64_t{0}, max = 0, low = 0;
  if (mask == nullptr) {
    for (size_t i = 0; i < n; ++i) {
      min = p[i] < min ? p[i] : min;
      max = p[i] > max ? p[i] : max;
      low |= p[i];
    }
  } else {
    for (size_t i = 0; i < n; ++i) {
      const uint64_t on = uint64_t{0} - static_cast<uint64_t>(mask[i] != 0);
      const uint64_t up = p[i] | ~on, down = p[i] & on;
      min = up < min ? up : min;
      max = down > max ? down : max;
      low |= down;
    }
  }
  return {min, max, low};
}

size_t Run(const uint64_t* p, uint64_t step, size_t n) {
  size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    const uint64_t first = p[0] + i * step;
    uint64_t different = 0;
    for (size_t k = 0; k < kBlock; ++k) different |= p[i + k] ^ (first + k * step);
    if (different != 0) break;
  }
  while (i < n && p[i] == p[0] + i * step) ++i;
  return i;
}

template <class T>
size_t Prefix(const T* cells, T value, size_t n) {
  size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    T different = 0;
    for (size_t k = 0; k < kBlock; ++k) different |= cells[i + k] ^ value;
    if (different != 0) break;
  }
  while (i < n && cells[i] == value) ++i;
  return i;
}
size_t Prefix8(const uint8_t* bytes, uint8_t value, size_t n) {
  return Prefix(bytes, value, n);
}
size_t Prefix32(const uint32_t* cells, uint32_t value, size_t n) {
  return Prefix(cells, value, n);
}

template <class T>
void GatherOf(const std::byte* base, uint64_t first, const uint64_t* p, const uint8_t* mask, void* out,
              size_t n) {
  T* to = static_cast<T*>(out);
  if (mask == nullptr) {
    for (size_t i = 0; i < n; ++i) __builtin_memcpy(&to[i], base + (p[i] - first), sizeof(T));
  } else {
    for (size_t i = 0; i < n; ++i) {
      if (mask[i] != 0) __builtin_memcpy(&to[i], base + (p[i] - first), sizeof(T));
    }
  }
}
void Gather(const std::byte* base, uint64_t first, const uint64_t* p, const uint8_t* mask, int size,
            void* out, size_t n) {
  WithWord(size, [&](auto word) { GatherOf<decltype(word)>(base, first, p, mask, out, n); });
}

template <class T>
void ScatterOf(std::byte* base, uint64_t first, const uint64_t* p, const uint8_t* mask, const void* in,
               size_t n) {
  const T* from = static_cast<const T*>(in);
  for (size_t i = 0; i < n; ++i) {
    if (mask == nullptr || mask[i] != 0) __builtin_memcpy(base + (p[i] - first), &from[i], sizeof(T));
  }
}
void Scatter(std::byte* base, uint64_t first, const uint64_t* p, const uint8_t* mask, int size,
             const void* in, size_t n) {
  WithWord(size, [&](auto word) { ScatterOf<decltype(word)>(base, first, p, mask, in, n); });
}

template <class T>
void FillOf(const void* value, void* out, size_t n) {
  const T x = *static_cast<const T*>(value);
  T* to = static_cast<T*>(out);
  for (size_t i = 0; i < n; ++i) to[i] = x;
}
void Fill(const void* value, int size, void* out, size_t n) {
  WithWord(size, [&](auto word) { FillOf<decltype(word)>(value, out, n); });
}

}  // namespace

extern const MemoryKernels kMemory = {AddPtr, Range, Run, Prefix8, Prefix32, Gather, Scatter, Fill};

}  // namespace tritogen::tile::lanes::TRITOGEN_ISA
