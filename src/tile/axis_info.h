// What Triton's compiler takes the lanes of integers and pointers for: by its own rules (AxisInfo.cpp) and by
// what the program tells it, which need not be true: tl.multiple_of, tl.max_contiguous, tl.max_constancy.
// Lanes that follow each other are loaded and stored at once, by the pointer of the first.
#pragma once

#include <unordered_map>

#include "tile/ir.h"

namespace tritogen::tile {

// Of a load or store: how many lanes go at once, and how far apart they lie in the tile.
struct VectorAccess {
  int64_t lanes = 1;
  int64_t step = 1;
};

// The accesses that go by vectors because of what the program told.
using HintedAccesses = std::unordered_map<const Operation*, VectorAccess>;
HintedAccesses FindHintedAccesses(const Function& function);

}  // namespace tritogen::tile
