// Internal to lanes: what the build for one instruction set offers, and the names its sources share.
//
// kernels_*.cc and the headers they use are compiled several times with different machine flags. Everything
// they define stands in the namespace TRITOGEN_ISA, so that the linker never picks an AVX-512 copy of an
// inline function for a CPU without it; for the same reason they use no inline functions of the standard
// library.
#pragma once

#include "tile/lanes/lanes.h"

#ifndef TRITOGEN_ISA
#define TRITOGEN_ISA common  // sources compiled once
#endif

#if defined(__clang__)
#define TRITOGEN_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define TRITOGEN_IVDEP _Pragma("GCC ivdep")  // out may be an operand, never shifted against it
#endif

namespace tritogen::tile::lanes {

// Predicates of cmpi and cmpf, parsed.
enum class Predicate {
  kEq,
  kNe,
  kSlt,
  kSle,
  kSgt,
  kSge,
  kUlt,
  kUle,
  kUgt,
  kUge,
  kFalse,
  kOeq,
  kOgt,
  kOge,
  kOlt,
  kOle,
  kOne,
  kOrd,
  kUeq,
  kFUgt,
  kFUge,
  kFUlt,
  kFUle,
  kUne,
  kUno,
  kTrue,
};

using ExternCall = void (*)(const void* const* operands, void* out, size_t n);

struct Tables {
  BinaryFn (*binary)(OpCode, Elem);
  UnaryFn (*unary)(OpCode, Elem);
  TernaryFn (*ternary)(OpCode, Elem);
  TernaryFn (*clamp_all)(Elem);
  BinaryFn (*compare)(Predicate, Elem);
  TernaryFn (*select)(int elem_bytes);
  UnaryFn (*cast)(OpCode, Elem from, Elem to, bool toward_zero);
  ReduceFn (*reduce)(OpCode, Elem);
  ScanFn (*scan)(OpCode, Elem);
  DotFn (*dot)(Elem in, Elem out, DotPrecision);
  ExternCall (*vector_extern)(
      const char* symbol);  // libdevice functions with a vector form; null for the others
};

namespace generic {
extern const Tables kTables;
}
namespace avx2 {
extern const Tables kTables;
}
namespace avx512 {
extern const Tables kTables;
}

const Tables& TablesOf(Isa isa);

}  // namespace tritogen::tile::lanes
