// Rules of loads, stores, atomics and descriptors.
#include <algorithm>

#include "tile/op_checker.h"

namespace tritogen::tile {
namespace {

// What the pointers in operand 0 point at, in their shape.
Type PointeeType(const OpChecker& c) {
  c.Require(c.In(0).elem == Elem::kPtr, "operand 0 must be pointers");
  return WithShape(c.In(0).pointee, c.In(0).shape);
}

void CheckHints(const OpChecker& c) {
  c.Optional<bool>("isVolatile", "a bool");
  c.Optional<std::string>("cacheModifier", "a word");
  c.Optional<std::string>("evictionPolicy", "a word");
}

void CheckAddPtr(const OpChecker& c) {
  c.Counts(2, 2, 1);
  PointeeType(c);
  c.Require(IsInteger(c.In(1).elem) && c.In(1).shape == c.In(0).shape,
            "offsets must be integers of the pointers' shape");
  c.OutIs(c.In(0));
}

void CheckLoad(const OpChecker& c) {
  c.Counts(1, 3, 1);
  const Type values = PointeeType(c);
  if (c.inputs() > 1) c.MaskIs(1, values.shape);
  if (c.inputs() > 2) c.InIs(2, values);
  c.OutIs(values);
  CheckHints(c);
}

void CheckStore(const OpChecker& c) {
  c.Counts(2, 3, 0);
  const Type values = PointeeType(c);
  c.InIs(1, values);
  if (c.inputs() > 2) c.MaskIs(2, values.shape);
  CheckHints(c);
}

void CheckAtomic(const OpChecker& c) {
  const Type values = PointeeType(c);
  c.Word("sem", {"relaxed", "acquire", "release", "acq_rel"});
  c.Word("scope", {"gpu", "cta", "sys"});
  c.InIs(1, values);
  c.OutIs(values);
  if (c.op().code == OpCode::kAtomicCas) {
    c.Counts(3, 3, 1);
    c.InIs(2, values);
    return;
  }
  c.Counts(2, 3, 1);
  c.Word("kind", {"and", "or", "xor", "add", "fadd", "max", "min", "umax", "umin", "exch"});
  const std::string kind = c.op().Attr<std::string>("kind");
  c.Require(kind == "fadd" ? IsArithFloat(values.elem) : kind == "exch" || IsInteger(values.elem),
            "not defined for these values");
  if (c.inputs() > 2) c.MaskIs(2, values.shape);
}

void CheckMakeDescriptor(const OpChecker& c) {
  const size_t rank = c.Out().shape.size();
  c.Counts(1 + 2 * rank, 1 + 2 * rank, 1);
  PointeeType(c);
  c.Require(c.In(0).shape.empty() && c.In(0).pointee == c.Out().pointee,
            "the base must point at the block's elements");
  for (size_t i = 1; i <= rank; ++i) {
    c.Require(c.In(i) == ScalarOf(Elem::kI32) || c.In(i) == ScalarOf(Elem::kI64), "the shape must be i32");
    c.InIs(rank + i, ScalarOf(Elem::kI64));
  }
  if (!c.op().attributes.contains("padding")) return;
  const int64_t padding = c.Integer("padding");
  c.Require(padding == 1 || padding == 2, "padding is 1 (zero) or 2 (NaN)");
}

std::vector<int64_t> WithoutOnes(std::vector<int64_t> shape) {
  std::erase(shape, 1);
  return shape;
}

const Type& Descriptor(const OpChecker& c) {
  c.Require(c.inputs() > 0 && c.In(0).elem == Elem::kDesc, "operand 0 must be a descriptor");
  return c.In(0);
}

// A block of the descriptor, which may lack dimensions of size 1.
void CheckBlock(const OpChecker& c, const Type& block) {
  const Type& descriptor = Descriptor(c);
  c.Require(block.is_tensor() && block.elem == descriptor.pointee &&
                WithoutOnes(block.shape) == WithoutOnes(descriptor.shape),
            "the block does not fit the descriptor");
}

void CheckOffsets(const OpChecker& c) {
  for (size_t i = 1; i <= Descriptor(c).shape.size(); ++i) c.InIs(i, ScalarOf(Elem::kI32));
}

void CheckDescAccess(const OpChecker& c) {
  const size_t rank = Descriptor(c).shape.size();
  if (c.op().code == OpCode::kDescLoad) {
    c.Counts(1 + rank, 1 + rank, 1);
    CheckOffsets(c);
    CheckBlock(c, c.Out());
    return CheckHints(c);
  }
  c.Counts(2 + rank, 2 + rank, 0);
  CheckOffsets(c);
  CheckBlock(c, c.In(1 + rank));
  if (c.op().code != OpCode::kDescReduce) return;
  c.Word("kind", {"add", "min", "max", "and", "or", "xor"});
  const std::string kind = c.op().Attr<std::string>("kind");
  const bool bitwise = kind == "and" || kind == "or" || kind == "xor";
  const Elem elem = c.In(0).pointee;
  c.Require(IsInteger(elem) || (IsArithFloat(elem) && !bitwise), "not defined for these values");
}

void CheckDescRows(const OpChecker& c) {
  const Type& descriptor = Descriptor(c);
  const bool gathers = c.op().code == OpCode::kDescGather;
  c.Counts(gathers ? 3 : 4, gathers ? 3 : 4, gathers ? 1 : 0);
  c.Require(descriptor.shape.size() == 2 && descriptor.shape[0] == 1, "needs a descriptor of one row");
  c.Require(c.In(1).elem == Elem::kI32 && c.In(1).shape.size() == 1, "rows must be i32 of rank 1");
  c.InIs(2, ScalarOf(Elem::kI32));
  const Type block = WithShape(descriptor.pointee, {c.In(1).shape[0], descriptor.shape[1]});
  if (gathers) {
    c.OutIs(block);
  } else {
    c.InIs(3, block);
  }
}

}  // namespace

bool VerifyMemoryOp(const OpChecker& c) {
  switch (c.op().code) {
    case OpCode::kAddPtr:
      CheckAddPtr(c);
      return true;
    case OpCode::kLoad:
      CheckLoad(c);
      return true;
    case OpCode::kStore:
      CheckStore(c);
      return true;
    case OpCode::kAtomicRmw:
    case OpCode::kAtomicCas:
      CheckAtomic(c);
      return true;
    case OpCode::kMakeDescriptor:
      CheckMakeDescriptor(c);
      return true;
    case OpCode::kDescLoad:
    case OpCode::kDescStore:
    case OpCode::kDescReduce:
      CheckDescAccess(c);
      return true;
    case OpCode::kDescGather:
    case OpCode::kDescScatter:
      CheckDescRows(c);
      return true;
    default:
      return false;
  }
}

}  // namespace tritogen::tile
