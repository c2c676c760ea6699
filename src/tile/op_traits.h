// What parser and verifier both need to know of an operation.
#pragma once

#include "tile/ir.h"

namespace tritogen::tile {

// The regular families; everything else has rules of its own.
enum class OpFamily : uint8_t {
  kOther,
  kIntegerArith,  // `arity` operands and the result of one integer type
  kFloatArith,    // the same with floats of 16 bits and more
  kArithCast,     // one operand, `: A to B`
  kTritonCast,    // one operand, `: A -> B`
};

struct OpTraits {
  OpFamily family = OpFamily::kOther;
  int arity = 1;
};

OpTraits TraitsOf(OpCode code);

// Ends a block: tt.return, scf.yield, cf.br, …
bool IsTerminator(OpCode code);

// tt.reduce, tt.scan and tt.map_elementwise: printed in MLIR's generic form only.
bool IsGenericForm(OpCode code);

}  // namespace tritogen::tile
