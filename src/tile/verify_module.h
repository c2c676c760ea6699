// Checks of a parsed module that make the invariants in ir.h true.
#pragma once

#include "tile/ir.h"

namespace tritogen::tile {

// Throws TtirError that names the operation and its line. Linear in the module's size.
void VerifyModule(const Module& module);

// Operand, result and attribute rules of one operation, without its regions, successors and callee.
void VerifyOperation(const Function& function, const Operation& op);

}  // namespace tritogen::tile
