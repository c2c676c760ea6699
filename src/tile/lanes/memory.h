// Lane kernels over pointer tiles, masks and the checker's shadow cells. Pointers are encoded as
// tile/pointer.h says. Compiled per instruction set like the arithmetic; Memory() is the best table this CPU
// runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tile/lanes/lanes.h"

namespace tritogen::tile::lanes {

// What the active lanes of a pointer tile span.
struct PointerRange {
  uint64_t min = ~uint64_t{0};
  uint64_t max = 0;
  uint64_t low_bits = 0;  // OR of all of them: misalignment shows in the low bits
  bool empty() const { return min > max; }
};

struct MemoryKernels {
  // out[i] = p[i] + offset[i] * scale, or kWildPointer where the sum leaves the buffer's window.
  // `*_step` is 0 where the operand is one element for all lanes, else 1. `elem`: type of the offsets.
  void (*add_ptr)(const uint64_t* p, size_t p_step, const void* offset, size_t offset_step, Elem elem,
                  int64_t scale, uint64_t* out, size_t n);
  // mask may be null: all lanes.
  PointerRange (*range)(const uint64_t* p, const uint8_t* mask, size_t n);
  // Length of the longest prefix with p[i] == p[0] + i * step; n > 0.
  size_t (*run)(const uint64_t* p, uint64_t step, size_t n);
  // Length of the longest prefix of bytes / cells that equal `value`.
  size_t (*prefix8)(const uint8_t* bytes, uint8_t value, size_t n);
  size_t (*prefix32)(const uint32_t* cells, uint32_t value, size_t n);
  // Copies `size`-byte elements between a tile and base + (p[i] - first) for the lanes of a mask (null: all).
  void (*gather)(const std::byte* base, uint64_t first, const uint64_t* p, const uint8_t* mask, int size,
                 void* out, size_t n);
  void (*scatter)(std::byte* base, uint64_t first, const uint64_t* p, const uint8_t* mask, int size,
                  const void* in, size_t n);
  // out[i] = *value
  void (*fill)(const void* value, int size, void* out, size_t n);
};

const MemoryKernels& Memory(Isa isa = BestIsa());

}  // namespace tritogen::tile::lanes
