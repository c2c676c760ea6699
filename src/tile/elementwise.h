// Elementwise instructions that more than one family emits.
#pragma once

#include "tile/lower.h"

namespace tritogen::tile {

// Lanes that a run of the instruction covers.
inline size_t CountLanes(const Context& c, size_t lanes) {
  return lanes == kRegionLanes ? c.region_lanes : lanes;
}

// condition ? a : b, all of `lanes` lanes or uniform.
Operand EmitSelect(Lowering& lowering, Operand condition, Operand a, Operand b, Elem elem, size_t lanes);
// The operand cast to another element type by `code` (kExtF, kTruncI, …).
Operand EmitCast(Lowering& lowering, const Operation& op, OpCode code, Operand from, Elem from_elem,
                 Elem to_elem, size_t lanes);

}  // namespace tritogen::tile
