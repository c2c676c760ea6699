#include "tile/op_traits.h"

namespace tritogen::tile {

OpTraits TraitsOf(OpCode code) {
  using enum OpCode;
  switch (code) {
    case kAbsI:
      return {OpFamily::kIntegerArith, 1};
    case kAddI:
    case kSubI:
    case kMulI:
    case kDivSI:
    case kRemSI:
    case kDivUI:
    case kRemUI:
    case kCeilDivSI:
    case kCeilDivUI:
    case kFloorDivSI:
    case kAndI:
    case kOrI:
    case kXorI:
    case kShlI:
    case kShrSI:
    case kShrUI:
    case kMinSI:
    case kMaxSI:
    case kMinUI:
    case kMaxUI:
    case kMulHiUI:
      return {OpFamily::kIntegerArith, 2};
    case kNegF:
    case kExp:
    case kExp2:
    case kLog:
    case kLog2:
    case kSin:
    case kCos:
    case kSqrt:
    case kRsqrt:
    case kErf:
    case kFloor:
    case kCeil:
    case kAbsF:
    case kTanh:
    case kPreciseSqrt:
      return {OpFamily::kFloatArith, 1};
    case kAddF:
    case kSubF:
    case kMulF:
    case kDivF:
    case kRemF:
    case kPreciseDivF:
    case kMinNumF:
    case kMaxNumF:
    case kMinimumF:
    case kMaximumF:
      return {OpFamily::kFloatArith, 2};
    case kFma:
    case kClampF:
      return {OpFamily::kFloatArith, 3};
    case kExtF:
    case kTruncF:
    case kExtSI:
    case kExtUI:
    case kTruncI:
    case kSIToFP:
    case kUIToFP:
    case kFPToSI:
    case kFPToUI:
    case kArithBitcast:
    case kIndexCast:
      return {OpFamily::kArithCast, 1};
    case kFpToFp:
    case kBitcast:
    case kIntToPtr:
    case kPtrToInt:
      return {OpFamily::kTritonCast, 1};
    default:
      return {};
  }
}

bool IsTerminator(OpCode code) {
  using enum OpCode;
  switch (code) {
    case kReturn:
    case kCondition:
    case kYield:
    case kBr:
    case kCondBr:
    case kReduceReturn:
    case kScanReturn:
    case kMapReturn:
      return true;
    default:
      return false;
  }
}

bool IsGenericForm(OpCode code) {
  return code == OpCode::kReduce || code == OpCode::kScan || code == OpCode::kMapElementwise;
}

}  // namespace tritogen::tile
