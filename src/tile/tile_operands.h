// The shared part of loads, stores and atomics: pointers with an optional mask.
#pragma once

#include "tile/elementwise.h"
#include "tile/lanes/memory.h"

namespace tritogen::tile {

// How an operand is laid out: absent, one element for all lanes, or a tile.
enum class Layout : uint8_t { kNone, kUniform, kTile };

inline Layout LayoutOf(Lowering& lowering, const Operation& op, size_t index) {
  if (index >= op.operands.size()) return Layout::kNone;
  return lowering.Use(op.operands[index]).uniform ? Layout::kUniform : Layout::kTile;
}

// The lanes of an access that are on, from a mask operand.
struct ActiveLanes {
  bool any = true;                // false: nothing to do
  const uint8_t* mask = nullptr;  // null: all
};
inline ActiveLanes FindActive(Layout layout, const std::byte* mask, size_t n) {
  if (layout == Layout::kNone) return {};
  const auto* bytes = reinterpret_cast<const uint8_t*>(mask);
  if (layout == Layout::kUniform) return {bytes[0] != 0, nullptr};
  const bool all = lanes::Memory().prefix8(bytes, 1, n) == n;
  return {true, all ? nullptr : bytes};
}

// What a lane without a value holds: for floats a NaN that stores recognise, so that its use is seen.
uint64_t UndefinedBits(Elem elem);

// old[i] = data[i]; data[i] = f(data[i], values[i]). Kinds of tt.atomic_rmw, and fmax, fmin. Null: there is
// none.
using Rmw = void (*)(std::byte* data, const std::byte* values, std::byte* old, size_t n);
Rmw FindRmw(std::string_view kind, Elem elem);

// The release and acquire of a scalar atomic, where the launch tracks them.
void AcquireAt(Context& c, uint64_t pointer);
void ReleaseAt(Context& c, uint64_t pointer);

}  // namespace tritogen::tile
