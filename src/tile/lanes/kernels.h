// Internal to lanes: the finders that the sources of one instruction set's build define for its Tables.
#pragma once

#include "tile/lanes/isa.h"

namespace tritogen::tile::lanes::TRITOGEN_ISA {

BinaryFn FindBinary(OpCode code, Elem elem);
UnaryFn FindUnary(OpCode code, Elem elem);
TernaryFn FindTernary(OpCode code, Elem elem);
TernaryFn FindClampAll(Elem elem);
BinaryFn FindCompare(Predicate predicate, Elem elem);
TernaryFn FindSelect(int elem_bytes);
UnaryFn FindCast(OpCode code, Elem from, Elem to, bool toward_zero);
ReduceFn FindReduce(OpCode code, Elem elem);
ScanFn FindScan(OpCode code, Elem elem);
DotFn FindDot(Elem in, Elem out, DotPrecision precision);
ExternCall FindVectorExtern(const char* symbol);

}  // namespace tritogen::tile::lanes::TRITOGEN_ISA
