// Pointers of the tile machine: 16 bits name the buffer, 48 bits hold the byte offset in it, biased so that
// negative offsets stay in the same window. Arithmetic on them is plain 64-bit addition; an addition that
// leaves the window gives kWildPointer.
#pragma once

#include <cstdint>

namespace tritogen::tile {

inline constexpr int kOffsetBits = 48;
inline constexpr int64_t kOffsetBias = int64_t{1} << (kOffsetBits - 1);
inline constexpr int kMaxBuffers = 0xFFFE;  // window 0 is null, the last one is wild
inline constexpr uint64_t kWildPointer = uint64_t{0xFFFF} << kOffsetBits;

constexpr uint64_t EncodePointer(int buffer, int64_t offset) {
  return (static_cast<uint64_t>(buffer + 1) << kOffsetBits) + static_cast<uint64_t>(kOffsetBias + offset);
}
// -1: null or an integer that was never a pointer; kMaxBuffers: wild.
constexpr int PointerBuffer(uint64_t pointer) {
  return static_cast<int>(pointer >> kOffsetBits) - 1;
}
constexpr int64_t PointerOffset(uint64_t pointer) {
  return static_cast<int64_t>(pointer & ((uint64_t{1} << kOffsetBits) - 1)) - kOffsetBias;
}

}  // namespace tritogen::tile
