// Lane kernels: the numeric work of the tile machine on flat arrays, with GPU rounding. No IR, no memory
// checks, no allocation. Element formats in arrays: i1 and fp8 one byte (i1 is 0 or 1), f16/bf16 uint16_t
// bits, pointers uint64_t, the rest natural. Each source file is compiled once per instruction set (generic,
// AVX2, AVX-512); Find* returns the best one this CPU runs. The generic build is the plain twin:
// lanes_test.cc runs every kernel in every set and compares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tile/ir.h"

namespace tritogen::tile::lanes {

enum class Isa { kGeneric, kAvx2, kAvx512 };
Isa BestIsa();

// In all functions below `out` may be one of the operands if their elements have one size; otherwise arrays
// do not overlap. n may be 0. Functions are pure and may run on any number of threads.

// out[i] = f(a[i], b[i]); `vs` and `sv`: one side is a single element for all lanes.
struct BinaryFn {
  void (*vv)(const void* a, const void* b, void* out, size_t n) = nullptr;
  void (*vs)(const void* a, const void* b, void* out, size_t n) = nullptr;  // b is a single element
  void (*sv)(const void* a, const void* b, void* out, size_t n) = nullptr;  // a is a single element
  explicit operator bool() const { return vv != nullptr; }
};
using UnaryFn = void (*)(const void* a, void* out, size_t n);
using TernaryFn = void (*)(const void* a, const void* b, const void* c, void* out, size_t n);

// Operand element type `elem`; nothing when the pair is not supported. f16 and bf16 compute in f32 and round
// once. Nothing traps: x / 0 is all ones, x % 0 is x, INT_MIN / -1 is INT_MIN; shifts clamp as in PTX. -0 <
// +0 in min and max.
BinaryFn FindBinary(OpCode code, Elem elem, Isa isa = BestIsa());
UnaryFn FindUnary(OpCode code, Elem elem, Isa isa = BestIsa());
TernaryFn FindTernary(OpCode code, Elem elem,
                      Isa isa = BestIsa());  // kFma, kClampF (propagate none / all: see clamp_all)
TernaryFn FindClampAll(Elem elem, Isa isa = BestIsa());
// code kCmpI or kCmpF; predicate: the word of the text ("slt", "oeq", …); out is i1. kPtr compares as i64.
BinaryFn FindCompare(OpCode code, std::string_view predicate, Elem elem, Isa isa = BestIsa());
// out = cond ? a : b by element size (1, 2, 4, 8 bytes); cond i1. Scalar operands are broadcast by the
// caller.
TernaryFn FindSelect(int elem_bytes, Isa isa = BestIsa());
// Casts (kExtF … kFPToUI, kFpToFp, kIndexCast). rounding: "rtne", "rtz" or "" (rtne). Each rounds once, from
// the source. To fp8 saturates (infinity too), NaN stays; to f16/bf16 overflows to infinity, with rtz to the
// largest finite value. To integers saturates to the target type, to 8-bit ones to 16 bits, whose low byte it
// is (as PTX has it); NaN is 0. A true i1 is -1 for kExtSI/kSIToFP, 1 for kExtUI/kUIToFP.
UnaryFn FindCast(OpCode code, Elem from, Elem to, std::string_view rounding = "", Isa isa = BestIsa());
// tt.extern_elementwise by libdevice symbol ("__nv_tanhf"). Unsigned operands and results have the signless
// Elem.
inline constexpr int kMaxExternArity = 4;
struct ExternFn {
  void (*call)(const void* const* operands, void* out, size_t n) = nullptr;
  int arity = 0;
  Elem operand[kMaxExternArity] = {};
  Elem result = Elem::kNone;
  explicit operator bool() const { return call != nullptr; }
};
// Nothing for a symbol that the CPU has no equal of.
ExternFn FindExtern(std::string_view symbol, Isa isa = BestIsa());

// Reductions with a known combine along the middle axis of [outer, axis, inner] → [outer, inner]; axis > 0.
// Tree order, the same bits on every CPU. f16 and bf16 round after every step, as TTIR's combine regions say.
// `in` and `out` are apart.
using ReduceFn = void (*)(const void* in, void* out, size_t outer, size_t axis, size_t inner);
// `code` is the combine region's single operation: kAddF, kAddI, kMaxNumF, kMaximumF, kMaxSI, kMaxUI, kAndI,
// …
ReduceFn FindReduce(OpCode code, Elem elem, Isa isa = BestIsa());
// Inclusive scan, same layout and tree order; reverse starts at the last index. `in` may be `out`.
using ScanFn = void (*)(const void* in, void* out, size_t outer, size_t axis, size_t inner, bool reverse);
ScanFn FindScan(OpCode code, Elem elem, Isa isa = BestIsa());

// acc[m,n] += a[m,k] · b[k,n], row-major and contiguous. `precision` is of f32 operands ("ieee"; "tf32",
// which cuts them; "tf32x3", "bf16x3", "bf16x6", which round their parts); it means nothing for the other
// types. Sums are f32 for every type below f64.
enum class DotPrecision { kIeee, kTf32, kTf32x3, kBf16x3, kBf16x6 };
struct DotShape {
  size_t m, n, k;
};
// a, b of elem `in`; acc of elem `out`: f32, f64 for f64, i32 for i8 (signed, exact, wrapping), or f16 for
// f16 and fp8 (rounded once per dot). `scratch` holds DotScratchBytes(shape) and overlaps nothing.
using DotFn = void (*)(const void* a, const void* b, void* acc, DotShape shape, void* scratch);
DotFn FindDot(Elem in, Elem out, DotPrecision precision, Isa isa = BestIsa());
size_t DotScratchBytes(DotShape shape);

// Scalar conversions, the definition of each format's rounding; used by constants and tests.
uint16_t FloatToHalf(float x);  // nearest even
float HalfToFloat(uint16_t bits);
uint16_t FloatToBFloat(float x);  // nearest even, NaN kept
float BFloatToFloat(uint16_t bits);
uint8_t FloatToE4M3(float x);  // nearest even, saturates to ±448, NaN kept
float E4M3ToFloat(uint8_t bits);
uint8_t FloatToE5M2(float x);  // nearest even, saturates to ±57344, NaN kept
float E5M2ToFloat(uint8_t bits);
float RoundToTf32(float x);  // nearest, ties away from zero (cvt.rna.tf32.f32)

}  // namespace tritogen::tile::lanes
