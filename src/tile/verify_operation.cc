// Arithmetic, casts, constants, messages and control flow; the rest is in verify_shape.cc, verify_memory.cc
// and verify_collective.cc.
#include "tile/op_checker.h"
#include "tile/op_traits.h"
#include "tile/verify_module.h"

namespace tritogen::tile {
namespace {

void CheckArith(const OpChecker& c, const OpTraits& traits) {
  const auto arity = static_cast<size_t>(traits.arity);
  c.Counts(arity, arity, 1);
  const Elem elem = c.Out().elem;
  const bool fits = traits.family == OpFamily::kIntegerArith ? IsInteger(elem) : IsArithFloat(elem);
  if (!fits) c.Fail(fmt::format("not defined for {}", TypeName(c.Out())));
  for (size_t i = 0; i < arity; ++i) c.InIs(i, c.Out());
  if (c.op().code == OpCode::kClampF) c.Word("propagateNan", {"none", "all"});
}

void CheckCompare(const OpChecker& c) {
  c.Counts(2, 2, 1);
  const Elem elem = c.In(0).elem;
  if (c.op().code == OpCode::kCmpI) {
    c.Require(IsInteger(elem) || elem == Elem::kPtr, "operands must be integers");
    c.Word("predicate", {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"});
  } else {
    c.Require(IsArithFloat(elem), "operands must be floats of 16 bits or more");
    c.Word("predicate", {"false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult",
                         "ule", "une", "uno", "true"});
  }
  c.InIs(1, c.In(0));
  c.OutIs(WithShape(Elem::kI1, c.In(0).shape));
}

void CheckSelect(const OpChecker& c) {
  c.Counts(3, 3, 1);
  c.Require(c.Out().elem != Elem::kDesc, "not defined for descriptors");
  c.InIs(1, c.Out());
  c.InIs(2, c.Out());
  if (c.In(0).shape.empty()) {
    c.InIs(0, ScalarOf(Elem::kI1));
  } else {
    c.MaskIs(0, c.Out().shape);
  }
}

bool CastFits(const OpChecker& c, Elem from, Elem to) {
  const int change = ElemBits(to) - ElemBits(from);
  switch (c.op().code) {
    case OpCode::kExtF:
      return IsFloat(from) && IsFloat(to) && change > 0;
    case OpCode::kTruncF:
      return IsFloat(from) && IsFloat(to) && change < 0;
    case OpCode::kExtSI:
    case OpCode::kExtUI:
      return IsInteger(from) && IsInteger(to) && change > 0;
    case OpCode::kTruncI:
      return IsInteger(from) && IsInteger(to) && change < 0;
    case OpCode::kIndexCast:
      return IsInteger(from) && IsInteger(to);
    case OpCode::kSIToFP:
    case OpCode::kUIToFP:
      return IsInteger(from) && IsArithFloat(to);
    case OpCode::kFPToSI:
    case OpCode::kFPToUI:
      return IsArithFloat(from) && IsInteger(to);
    case OpCode::kFpToFp:
      return IsFloat(from) && IsFloat(to);
    case OpCode::kArithBitcast:
      return IsNumber(from) && IsNumber(to) && change == 0;
    case OpCode::kBitcast:
      return change == 0 && (IsNumber(from) ? IsNumber(to) : from == Elem::kPtr && to == Elem::kPtr);
    case OpCode::kIntToPtr:
      return from == Elem::kI64 && to == Elem::kPtr;
    case OpCode::kPtrToInt:
      return from == Elem::kPtr && to == Elem::kI64;
    default:
      return false;
  }
}

void CheckCast(const OpChecker& c) {
  c.Counts(1, 1, 1);
  const Type& from = c.In(0);
  const Type& to = c.Out();
  if (from.shape != to.shape || !CastFits(c, from.elem, to.elem)) {
    c.Fail(fmt::format("no cast from {} to {}", TypeName(from), TypeName(to)));
  }
  if (c.op().code != OpCode::kFpToFp) return;
  if (ElemBits(to.elem) < ElemBits(from.elem) || c.op().attributes.contains("rounding")) {
    c.Word("rounding", {"rtne", "rtz"});
  }
}

void CheckConstant(const OpChecker& c) {
  c.Counts(0, 0, 1);
  const auto& value = c.Attribute<ConstantBits>("value", "a constant");
  c.Require(IsNumber(c.Out().elem), "must be a number");
  const size_t wanted = value.splat ? 1 : static_cast<size_t>(c.Out().numel());
  c.Require(value.bits.size() == wanted, "a wrong number of elements");
}

void CheckExtern(const OpChecker& c) {
  c.Counts(0, c.inputs(), 1);
  c.Attribute<std::string>("symbol", "a string");
  c.Require(IsNumber(c.Out().elem), "the result must be numbers");
  for (size_t i = 0; i < c.inputs(); ++i) {
    c.Require(IsNumber(c.In(i).elem) && c.In(i).shape == c.Out().shape,
              "operands must be numbers of the result's shape");
  }
}

void CheckPrint(const OpChecker& c) {
  c.Optional<bool>("hex", "a bool");
  const auto& is_signed = c.Attribute<std::vector<int64_t>>("isSigned", "an array");
  c.Require(is_signed.size() == c.inputs(), "isSigned must have one entry per operand");
  for (size_t i = 0; i < c.inputs(); ++i) c.Require(c.In(i).elem != Elem::kDesc, "cannot print a descriptor");
}

// Conditions and bounds; what regions carry is checked with the regions.
void CheckControl(const OpChecker& c) {
  switch (c.op().code) {
    case OpCode::kFor: {
      const Elem elem = c.In(0).elem;
      c.Require(c.In(0).shape.empty() && IsInteger(elem) && elem != Elem::kI1,
                "bounds must be scalar integers");
      c.InIs(1, c.In(0));
      c.InIs(2, c.In(0));
      return;
    }
    case OpCode::kIf:
      return c.InIs(0, ScalarOf(Elem::kI1));
    case OpCode::kProgramId:
    case OpCode::kNumPrograms:
      return c.OutIs(ScalarOf(Elem::kI32));
    case OpCode::kAssert:
      return c.MaskIs(0, c.In(0).shape);
    case OpCode::kAssume:
      return c.InIs(0, ScalarOf(Elem::kI1));
    default:
      return;  // calls, while, barriers, assembly, poison
  }
}

}  // namespace

void VerifyOperation(const Function& function, const Operation& op) {
  const OpChecker c(function, op);
  const OpTraits traits = TraitsOf(op.code);
  switch (traits.family) {
    case OpFamily::kIntegerArith:
    case OpFamily::kFloatArith:
      return CheckArith(c, traits);
    case OpFamily::kArithCast:
    case OpFamily::kTritonCast:
      return CheckCast(c);
    case OpFamily::kOther:
      break;
  }
  switch (op.code) {
    case OpCode::kCmpI:
    case OpCode::kCmpF:
      return CheckCompare(c);
    case OpCode::kSelect:
      return CheckSelect(c);
    case OpCode::kConstant:
      return CheckConstant(c);
    case OpCode::kExtern:
      return CheckExtern(c);
    case OpCode::kPrint:
      return CheckPrint(c);
    default:
      break;
  }
  if (!VerifyShapeOp(c) && !VerifyMemoryOp(c) && !VerifyCollectiveOp(c)) CheckControl(c);
}

}  // namespace tritogen::tile
