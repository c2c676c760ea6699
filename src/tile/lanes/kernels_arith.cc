// Element-wise arithmetic on integers and floats.
#include "tile/lanes/kernels.h"
#include "tile/lanes/loops.h"

namespace tritogen::tile::lanes::TRITOGEN_ISA {
namespace {

template <class Op>
BinaryFn OnIntegers(Elem elem) {
  switch (elem) {
    case Elem::kI8:
      return BinaryLoops<Op, uint8_t>();
    case Elem::kI16:
      return BinaryLoops<Op, uint16_t>();
    case Elem::kI32:
      return BinaryLoops<Op, uint32_t>();
    case Elem::kI64:
      return BinaryLoops<Op, uint64_t>();
    default:
      return {};
  }
}

BinaryFn OnBits(OpCode code) {
  switch (code) {
    case OpCode::kAddI:
    case OpCode::kSubI:
    case OpCode::kXorI:
      return BinaryLoops<XorI, uint8_t>();
    case OpCode::kMulI:
    case OpCode::kAndI:
    case OpCode::kMaxSI:
    case OpCode::kMinUI:
      return BinaryLoops<AndI, uint8_t>();
    case OpCode::kOrI:
    case OpCode::kMinSI:
    case OpCode::kMaxUI:
      return BinaryLoops<OrI, uint8_t>();
    case OpCode::kShlI:
    case OpCode::kShrUI:
      return BinaryLoops<BitShift, uint8_t>();
    case OpCode::kShrSI:
      return BinaryLoops<BitFirst, uint8_t>();
    case OpCode::kDivSI:
    case OpCode::kDivUI:
    case OpCode::kCeilDivSI:
    case OpCode::kCeilDivUI:
    case OpCode::kFloorDivSI:
      return BinaryLoops<BitDiv, uint8_t>();
    case OpCode::kRemSI:
    case OpCode::kRemUI:
      return BinaryLoops<BitRem, uint8_t>();
    default:
      return {};
  }
}

template <class Op>
BinaryFn OnFloats(Elem elem) {
  switch (elem) {
    case Elem::kF32:
      return BinaryLoops<Op, float>();
    case Elem::kF64:
      return BinaryLoops<Op, double>();
    case Elem::kF16:
      return SmallLoops<HalfFormat, Op>();
    case Elem::kBF16:
      return SmallLoops<BFloatFormat, Op>();
    default:
      return {};
  }
}

template <class Op, class SmallOp = Op>
TernaryFn Ternary(Elem elem) {
  switch (elem) {
    case Elem::kF32:
      return &TernaryLoop<Op, float>;
    case Elem::kF64:
      return &TernaryLoop<Op, double>;
    case Elem::kF16:
      return &SmallTernary<HalfFormat, SmallOp>;
    case Elem::kBF16:
      return &SmallTernary<BFloatFormat, SmallOp>;
    default:
      return nullptr;
  }
}

}  // namespace

BinaryFn FindBinary(OpCode code, Elem elem) {
  if (elem == Elem::kI1) return OnBits(code);
  switch (code) {
    case OpCode::kAddI:
      return OnIntegers<AddI>(elem);
    case OpCode::kSubI:
      return OnIntegers<SubI>(elem);
    case OpCode::kMulI:
      return OnIntegers<MulI>(elem);
    case OpCode::kDivSI:
      return OnIntegers<DivSI>(elem);
    case OpCode::kRemSI:
      return OnIntegers<RemSI>(elem);
    case OpCode::kDivUI:
      return OnIntegers<DivUI>(elem);
    case OpCode::kRemUI:
      return OnIntegers<RemUI>(elem);
    case OpCode::kCeilDivSI:
      return OnIntegers<RoundedDivSI<true>>(elem);
    case OpCode::kCeilDivUI:
      return OnIntegers<CeilDivUI>(elem);
    case OpCode::kFloorDivSI:
      return OnIntegers<RoundedDivSI<false>>(elem);
    case OpCode::kAndI:
      return OnIntegers<AndI>(elem);
    case OpCode::kOrI:
      return OnIntegers<OrI>(elem);
    case OpCode::kXorI:
      return OnIntegers<XorI>(elem);
    case OpCode::kShlI:
      return OnIntegers<ShlI>(elem);
    case OpCode::kShrSI:
      return OnIntegers<ShrSI>(elem);
    case OpCode::kShrUI:
      return OnIntegers<ShrUI>(elem);
    case OpCode::kMinSI:
      return OnIntegers<MinSI>(elem);
    case OpCode::kMaxSI:
      return OnIntegers<MaxSI>(elem);
    case OpCode::kMinUI:
      return OnIntegers<MinUI>(elem);
    case OpCode::kMaxUI:
      return OnIntegers<MaxUI>(elem);
    case OpCode::kMulHiUI:
      if (elem == Elem::kI32) return BinaryLoops<MulHiUI, uint32_t>();
      return elem == Elem::kI64 ? BinaryLoops<MulHiUI, uint64_t>() : BinaryFn{};
    case OpCode::kAddF:
      return OnFloats<AddF>(elem);
    case OpCode::kSubF:
      return OnFloats<SubF>(elem);
    case OpCode::kMulF:
      return OnFloats<MulF>(elem);
    case OpCode::kDivF:
    case OpCode::kPreciseDivF:
      return OnFloats<DivF>(elem);
    case OpCode::kRemF:
      return OnFloats<RemF>(elem);
    case OpCode::kMinNumF:
      return OnFloats<MinNumF>(elem);
    case OpCode::kMaxNumF:
      return OnFloats<MaxNumF>(elem);
    case OpCode::kMinimumF:
      return OnFloats<MinimumF>(elem);
    case OpCode::kMaximumF:
      return OnFloats<MaximumF>(elem);
    default:
      return {};
  }
}

TernaryFn FindTernary(OpCode code, Elem elem) {
  switch (code) {
    case OpCode::kFma:
      return Ternary<Fma, FmaToOdd>(elem);
    case OpCode::kClampF:
      return Ternary<ClampNone>(elem);
    default:
      return nullptr;
  }
}

TernaryFn FindClampAll(Elem elem) {
  return Ternary<ClampAll>(elem);
}

}  // namespace tritogen::tile::lanes::TRITOGEN_ISA
