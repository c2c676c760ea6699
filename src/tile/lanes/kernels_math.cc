// Functions of one lane: absolute values, rounding to integers, and the functions of libm. Where the C
// library has vector forms (libmvec, glibc 2.35 and later, at most 4 ulp) the AVX builds call those.
#include <math.h>

#include "tile/lanes/kernels.h"
#include "tile/lanes/loops.h"
#include "tile/lanes/mvec.h"

namespace tritogen::tile::lanes::TRITOGEN_ISA {
namespace {

#define TRITOGEN_MATH_OP(Name, f32_expression, f64_expression) \
  struct Name {                                                \
    static float Apply(float x) { return f32_expression; }     \
    static double Apply(double x) { return f64_expression; }   \
  };
TRITOGEN_MATH_OP(Sqrt, __builtin_sqrtf(x), __builtin_sqrt(x))
TRITOGEN_MATH_OP(Rsqrt, 1 / __builtin_sqrtf(x), 1 / __builtin_sqrt(x))
TRITOGEN_MATH_OP(Floor, __builtin_floorf(x), __builtin_floor(x))
TRITOGEN_MATH_OP(Ceil, __builtin_ceilf(x), __builtin_ceil(x))
#ifndef TRITOGEN_VECTOR_MATH
TRITOGEN_MATH_OP(Exp, ::expf(x), ::exp(x))
TRITOGEN_MATH_OP(Exp2, ::exp2f(x), ::exp2(x))
TRITOGEN_MATH_OP(Log, ::logf(x), ::log(x))
TRITOGEN_MATH_OP(Log2, ::log2f(x), ::log2(x))
TRITOGEN_MATH_OP(Sin, ::sinf(x), ::sin(x))
TRITOGEN_MATH_OP(Cos, ::cosf(x), ::cos(x))
TRITOGEN_MATH_OP(Erf, ::erff(x), ::erf(x))
TRITOGEN_MATH_OP(Tanh, ::tanhf(x), ::tanh(x))
#endif
#undef TRITOGEN_MATH_OP

UnaryFn OnFloats(Elem elem, UnaryFn f32, UnaryFn f64, UnaryFn f16, UnaryFn bf16) {
  switch (elem) {
    case Elem::kF32:
      return f32;
    case Elem::kF64:
      return f64;
    case Elem::kF16:
      return f16;
    case Elem::kBF16:
      return bf16;
    default:
      return nullptr;
  }
}

template <UnaryFn kF32, UnaryFn kF64>
UnaryFn OnFloats(Elem elem) {
  return OnFloats(elem, kF32, kF64, &SmallUnary<HalfFormat, kF32>, &SmallUnary<BFloatFormat, kF32>);
}
template <class Op>
UnaryFn OnFloats(Elem elem) {
  return OnFloats<&UnaryLoop<Op, float>, &UnaryLoop<Op, double>>(elem);
}

// Sign-bit operations work on the 16 bits as they are.
template <uint16_t kKeep, uint16_t kFlip>
struct SignBits {
  static uint16_t Apply(uint16_t x) { return (x & kKeep) ^ kFlip; }
};

template <class Op, uint16_t kKeep, uint16_t kFlip>
UnaryFn OnSign(Elem elem) {
  constexpr UnaryFn kSmall = &UnaryLoop<SignBits<kKeep, kFlip>, uint16_t>;
  return OnFloats(elem, &UnaryLoop<Op, float>, &UnaryLoop<Op, double>, kSmall, kSmall);
}

UnaryFn AbsoluteInteger(Elem elem) {
  switch (elem) {
    case Elem::kI1:
      return &UnaryLoop<AbsI, uint8_t>;  // |-1| wraps to -1: bytes 0 and 1 stay
    case Elem::kI8:
      return &UnaryLoop<AbsI, uint8_t>;
    case Elem::kI16:
      return &UnaryLoop<AbsI, uint16_t>;
    case Elem::kI32:
      return &UnaryLoop<AbsI, uint32_t>;
    case Elem::kI64:
      return &UnaryLoop<AbsI, uint64_t>;
    default:
      return nullptr;
  }
}

}  // namespace

#ifdef TRITOGEN_VECTOR_MATH
#define TRITOGEN_LIBM(Name, name)                               \
  OnFloats<&VectorUnary<Vectors<float>, &Vectors<float>::name>, \
           &VectorUnary<Vectors<double>, &Vectors<double>::name>>(elem)
#else
#define TRITOGEN_LIBM(Name, name) OnFloats<Name>(elem)
#endif

UnaryFn FindUnary(OpCode code, Elem elem) {
  switch (code) {
    case OpCode::kAbsI:
      return AbsoluteInteger(elem);
    case OpCode::kAbsF:
      return OnSign<AbsF, 0x7fff, 0>(elem);
    case OpCode::kNegF:
      return OnSign<NegF, 0xffff, 0x8000>(elem);
    case OpCode::kFloor:
      return OnFloats<Floor>(elem);
    case OpCode::kCeil:
      return OnFloats<Ceil>(elem);
    case OpCode::kSqrt:
    case OpCode::kPreciseSqrt:
      return OnFloats<Sqrt>(elem);
    case OpCode::kRsqrt:
      return OnFloats<Rsqrt>(elem);
    case OpCode::kExp:
      return TRITOGEN_LIBM(Exp, exp);
    case OpCode::kExp2:
      return TRITOGEN_LIBM(Exp2, exp2);
    case OpCode::kLog:
      return TRITOGEN_LIBM(Log, log);
    case OpCode::kLog2:
      return TRITOGEN_LIBM(Log2, log2);
    case OpCode::kSin:
      return TRITOGEN_LIBM(Sin, sin);
    case OpCode::kCos:
      return TRITOGEN_LIBM(Cos, cos);
    case OpCode::kErf:
      return TRITOGEN_LIBM(Erf, erf);
    case OpCode::kTanh:
      return TRITOGEN_LIBM(Tanh, tanh);
    default:
      return nullptr;
  }
}

#ifdef TRITOGEN_VECTOR_MATH

namespace {
struct VectorRow {
  const char* symbol;
  ExternCall call;
};
#define TRITOGEN_UNARY_ROW(name)                                                            \
  {"__nv_" #name "f", &VectorExtern1<&VectorUnary<Vectors<float>, &Vectors<float>::name>>}, \
      {"__nv_" #name, &VectorExtern1<&VectorUnary<Vectors<double>, &Vectors<double>::name>>},
#define TRITOGEN_BINARY_ROW(name)                                             \
  {"__nv_" #name "f", &VectorExtern2<Vectors<float>, &Vectors<float>::name>}, \
      {"__nv_" #name, &VectorExtern2<Vectors<double>, &Vectors<double>::name>},
constexpr VectorRow kVectorRows[] = {TRITOGEN_MVEC_UNARY(TRITOGEN_UNARY_ROW) TRITOGEN_MVEC_SATURATING(
    TRITOGEN_UNARY_ROW) TRITOGEN_MVEC_BINARY(TRITOGEN_BINARY_ROW)};
}  // namespace

ExternCall FindVectorExtern(const char* symbol) {
  for (const VectorRow& row : kVectorRows) {
    if (__builtin_strcmp(row.symbol, symbol) == 0) return row.call;
  }
  return nullptr;
}

#else

ExternCall FindVectorExtern(const char*) {
  return nullptr;
}

#endif

}  // namespace tritogen::tile::lanes::TRITOGEN_ISA
