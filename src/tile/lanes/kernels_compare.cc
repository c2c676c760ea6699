// Comparisons and select.
#include "tile/lanes/kernels.h"
#include "tile/lanes/loops.h"

namespace tritogen::tile::lanes::TRITOGEN_ISA {
namespace {

#define TRITOGEN_COMPARE(Name, expression) \
  struct Name {                            \
    template <class T>                     \
    static uint8_t Apply(T a, T b) {       \
      return expression;                   \
    }                                      \
  };
TRITOGEN_COMPARE(Eq, a == b)
TRITOGEN_COMPARE(Ne, a != b)
TRITOGEN_COMPARE(Slt, AsSigned(a) < AsSigned(b))
TRITOGEN_COMPARE(Sle, AsSigned(a) <= AsSigned(b))
TRITOGEN_COMPARE(Sgt, AsSigned(a) > AsSigned(b))
TRITOGEN_COMPARE(Sge, AsSigned(a) >= AsSigned(b))
TRITOGEN_COMPARE(Lt, a < b)
TRITOGEN_COMPARE(Le, a <= b)
TRITOGEN_COMPARE(Gt, a > b)
TRITOGEN_COMPARE(Ge, a >= b)
// Floats: the plain operators are the ordered ones, false where a side is NaN. `!=` alone is unordered.
TRITOGEN_COMPARE(One, (a < b) | (a > b))
TRITOGEN_COMPARE(Ord, (a == a) & (b == b))
TRITOGEN_COMPARE(Uno, (a != a) | (b != b))
TRITOGEN_COMPARE(Ueq, !((a < b) | (a > b)))
TRITOGEN_COMPARE(Ugt, !(a <= b))
TRITOGEN_COMPARE(Uge, !(a < b))
TRITOGEN_COMPARE(Ult, !(a >= b))
TRITOGEN_COMPARE(Ule, !(a > b))
TRITOGEN_COMPARE(Never, (void(a), void(b), 0))
TRITOGEN_COMPARE(Always, (void(a), void(b), 1))
#undef TRITOGEN_COMPARE

template <class Op>
BinaryFn OnIntegers(Elem elem) {
  switch (elem) {
    case Elem::kI1:  // unsigned here; FindCompare swaps the signed predicates
    case Elem::kI8:
      return BinaryLoops<Op, uint8_t, uint8_t>();
    case Elem::kI16:
      return BinaryLoops<Op, uint16_t, uint8_t>();
    case Elem::kI32:
      return BinaryLoops<Op, uint32_t, uint8_t>();
    case Elem::kI64:
    case Elem::kPtr:
      return BinaryLoops<Op, uint64_t, uint8_t>();
    default:
      return {};
  }
}

template <class Op>
BinaryFn OnFloats(Elem elem) {
  switch (elem) {
    case Elem::kF32:
      return BinaryLoops<Op, float, uint8_t>();
    case Elem::kF64:
      return BinaryLoops<Op, double, uint8_t>();
    case Elem::kF16:
      return SmallLoops<HalfFormat, Op, true>();
    case Elem::kBF16:
      return SmallLoops<BFloatFormat, Op, true>();
    default:
      return {};
  }
}

// A true i1 is -1 when it is signed: the order of the two values turns round.
Predicate SignedBitPredicate(Predicate predicate) {
  switch (predicate) {
    case Predicate::kSlt:
      return Predicate::kUgt;
    case Predicate::kSle:
      return Predicate::kUge;
    case Predicate::kSgt:
      return Predicate::kUlt;
    case Predicate::kSge:
      return Predicate::kUle;
    default:
      return predicate;
  }
}

template <class T>
void Select(const void* cond, const void* a, const void* b, void* out, size_t n) {
  const auto* c = static_cast<const uint8_t*>(cond);
  const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
  T* z = static_cast<T*>(out);
  TRITOGEN_IVDEP
  for (size_t i = 0; i < n; ++i) {
    const T yes = x[i], no = y[i];
    z[i] = c[i] != 0 ? yes : no;
  }
}

}  // namespace

BinaryFn FindCompare(Predicate predicate, Elem elem) {
  switch (elem == Elem::kI1 ? SignedBitPredicate(predicate) : predicate) {
    case Predicate::kEq:
      return OnIntegers<Eq>(elem);
    case Predicate::kNe:
      return OnIntegers<Ne>(elem);
    case Predicate::kSlt:
      return OnIntegers<Slt>(elem);
    case Predicate::kSle:
      return OnIntegers<Sle>(elem);
    case Predicate::kSgt:
      return OnIntegers<Sgt>(elem);
    case Predicate::kSge:
      return OnIntegers<Sge>(elem);
    case Predicate::kUlt:
      return OnIntegers<Lt>(elem);
    case Predicate::kUle:
      return OnIntegers<Le>(elem);
    case Predicate::kUgt:
      return OnIntegers<Gt>(elem);
    case Predicate::kUge:
      return OnIntegers<Ge>(elem);
    case Predicate::kFalse:
      return OnFloats<Never>(elem);
    case Predicate::kOeq:
      return OnFloats<Eq>(elem);
    case Predicate::kOgt:
      return OnFloats<Gt>(elem);
    case Predicate::kOge:
      return OnFloats<Ge>(elem);
    case Predicate::kOlt:
      return OnFloats<Lt>(elem);
    case Predicate::kOle:
      return OnFloats<Le>(elem);
    case Predicate::kOne:
      return OnFloats<One>(elem);
    case Predicate::kOrd:
      return OnFloats<Ord>(elem);
    case Predicate::kUeq:
      return OnFloats<Ueq>(elem);
    case Predicate::kFUgt:
      return OnFloats<Ugt>(elem);
    case Predicate::kFUge:
      return OnFloats<Uge>(elem);
    case Predicate::kFUlt:
      return OnFloats<Ult>(elem);
    case Predicate::kFUle:
      return OnFloats<Ule>(elem);
    case Predicate::kUne:
      return OnFloats<Ne>(elem);
    case Predicate::kUno:
      return OnFloats<Uno>(elem);
    case Predicate::kTrue:
      return OnFloats<Always>(elem);
  }
  return {};
}

TernaryFn FindSelect(int elem_bytes) {
  switch (elem_bytes) {
    case 1:
      return &Select<uint8_t>;
    case 2:
      return &Select<uint16_t>;
    case 4:
      return &Select<uint32_t>;
    case 8:
      return &Select<uint64_t>;
    default:
      return nullptr;
  }
}

}  // namespace tritogen::tile::lanes::TRITOGEN_ISA
