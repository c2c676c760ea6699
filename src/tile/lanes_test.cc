// Every fast build of every element-wise function against the generic one, the plain twin.
#include "tile/lanes/lanes.h"

#include <gtest/gtest.h>

#include "tile/lanes_test_util.h"

namespace tritogen::tile::lanes {
namespace {

constexpr size_t kLanes = 3001;  // no multiple of any register or chunk

std::vector<OpCode> AllOpCodes() {
  std::vector<OpCode> codes;
#define X(code, text) codes.push_back(OpCode::code);
#include "tile/ops.def"
#undef X
  return codes;
}

const std::vector<Elem> kAllElems{Elem::kI1,   Elem::kI8,     Elem::kI16,    Elem::kI32,
                                  Elem::kI64,  Elem::kF8E4M3, Elem::kF8E5M2, Elem::kF16,
                                  Elem::kBF16, Elem::kF32,    Elem::kF64};

// libmvec promises 4 ulp; the generic build calls libm, which is within one.
uint64_t TwinTolerance(OpCode code, Elem elem) {
  switch (code) {
    case OpCode::kExp:
    case OpCode::kExp2:
    case OpCode::kLog:
    case OpCode::kLog2:
    case OpCode::kSin:
    case OpCode::kCos:
    case OpCode::kErf:
    case OpCode::kTanh:
      return elem == Elem::kF32 || elem == Elem::kF64 ? 4 : 1;
    default:
      return 0;
  }
}

TEST(LanesTwins, Unary) {
  int found = 0;
  for (OpCode code : AllOpCodes()) {
    for (Elem elem : kAllElems) {
      const UnaryFn plain = FindUnary(code, elem, Isa::kGeneric);
      if (plain == nullptr) continue;
      ++found;
      const Array in = RandomArray(elem, kLanes, 1);
      Array expected(elem, kLanes);
      plain(in.data(), expected.data(), kLanes);
      for (Isa isa : AllIsas()) {
        Array out = in;  // in place
        FindUnary(code, elem, isa)(out.data(), out.data(), kLanes);
        const int64_t at = FirstDifference(expected, out, TwinTolerance(code, elem));
        EXPECT_EQ(at, -1) << Case(OpName(code), elem, isa) << " of " << (at < 0 ? 0 : in.Float(at));
      }
    }
  }
  EXPECT_EQ(found, 5 + 15 * 4);  // absi on 5 integers, 15 functions on 4 floats
}

TEST(LanesTwins, Binary) {
  int found = 0;
  for (OpCode code : AllOpCodes()) {
    for (Elem elem : kAllElems) {
      const BinaryFn plain = FindBinary(code, elem, Isa::kGeneric);
      if (!plain) continue;
      ++found;
      const Array a = RandomArray(elem, kLanes, 2), b = RandomArray(elem, kLanes, 3);
      Array vv(elem, kLanes), vs(elem, kLanes), sv(elem, kLanes);
      plain.vv(a.data(), b.data(), vv.data(), kLanes);
      plain.vs(a.data(), b.data(), vs.data(), kLanes);
      plain.sv(a.data(), b.data(), sv.data(), kLanes);
      for (Isa isa : AllIsas()) {
        const BinaryFn fast = FindBinary(code, elem, isa);
        Array out = a;
        fast.vv(out.data(), b.data(), out.data(), kLanes);
        EXPECT_EQ(FirstDifference(vv, out), -1) << Case(OpName(code), elem, isa);
        fast.vs(a.data(), b.data(), out.data(), kLanes);
        EXPECT_EQ(FirstDifference(vs, out), -1) << Case(OpName(code), elem, isa);
        out = b;
        fast.sv(a.data(), out.data(), out.data(), kLanes);
        EXPECT_EQ(FirstDifference(sv, out), -1) << Case(OpName(code), elem, isa);
      }
    }
  }
  // 20 operations on i8…i64 and i1, mulhi on two widths, 10 on four floats.
  // on 4 floats.
  EXPECT_EQ(found, 20 * 5 + 2 + 10 * 4);
}

TEST(LanesTwins, Ternary) {
  const std::pair<std::string_view, TernaryFn (*)(Elem, Isa)> finders[] = {
      {"fma", [](Elem elem, Isa isa) { return FindTernary(OpCode::kFma, elem, isa); }},
      {"clamp none", [](Elem elem, Isa isa) { return FindTernary(OpCode::kClampF, elem, isa); }},
      {"clamp all", [](Elem elem, Isa isa) { return FindClampAll(elem, isa); }}};
  for (const auto& [name, find] : finders) {
    for (Elem elem : kFloats) {
      const Array a = RandomArray(elem, kLanes, 4), b = RandomArray(elem, kLanes, 5),
                  c = RandomArray(elem, kLanes, 6);
      Array expected(elem, kLanes);
      find(elem, Isa::kGeneric)(a.data(), b.data(), c.data(), expected.data(), kLanes);
      for (Isa isa : AllIsas()) {
        Array out = b;
        find(elem, isa)(a.data(), out.data(), c.data(), out.data(), kLanes);
        EXPECT_EQ(FirstDifference(expected, out), -1) << Case(name, elem, isa);
      }
    }
  }
}

TEST(LanesTwins, CompareAndSelect) {
  for (std::string_view predicate :
       {"eq",  "ne",  "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge", "false",
        "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "une", "uno", "true"}) {
    for (OpCode code : {OpCode::kCmpI, OpCode::kCmpF}) {
      for (Elem elem : kAllElems) {
        const BinaryFn plain = FindCompare(code, predicate, elem, Isa::kGeneric);
        if (!plain) continue;
        const Array a = RandomArray(elem, kLanes, 7), b = RandomArray(elem, kLanes, 7 + (elem != Elem::kI1));
        Array expected(Elem::kI1, kLanes), out(Elem::kI1, kLanes);
        plain.vv(a.data(), b.data(), expected.data(), kLanes);
        for (Isa isa : AllIsas()) {
          FindCompare(code, predicate, elem, isa).vv(a.data(), b.data(), out.data(), kLanes);
          EXPECT_EQ(FirstDifference(expected, out), -1) << Case(predicate, elem, isa);
          // Against one element: the same as against an array of it.
          Array first = b, wide(Elem::kI1, kLanes);
          for (size_t i = 0; i < kLanes; ++i) first.Set(i, b.Get(5));
          plain.vv(a.data(), first.data(), wide.data(), kLanes);
          FindCompare(code, predicate, elem, isa)
              .vs(a.data(), &b.bytes[5 * ElemBytes(elem)], out.data(), kLanes);
          EXPECT_EQ(FirstDifference(wide, out), -1) << Case(predicate, elem, isa);
          plain.vv(first.data(), a.data(), wide.data(), kLanes);
          FindCompare(code, predicate, elem, isa)
              .sv(&b.bytes[5 * ElemBytes(elem)], a.data(), out.data(), kLanes);
          EXPECT_EQ(FirstDifference(wide, out), -1) << Case(predicate, elem, isa);
        }
      }
    }
  }
  const Array cond = RandomArray(Elem::kI1, kLanes, 9);
  for (Elem elem : {Elem::kI8, Elem::kI16, Elem::kI32, Elem::kI64}) {
    const Array a = RandomArray(elem, kLanes, 10), b = RandomArray(elem, kLanes, 11);
    for (Isa isa : AllIsas()) {
      Array out(elem, kLanes);
      FindSelect(ElemBytes(elem), isa)(cond.data(), a.data(), b.data(), out.data(), kLanes);
      for (size_t i = 0; i < kLanes; ++i)
        ASSERT_EQ(out.Get(i), cond.Get(i) ? a.Get(i) : b.Get(i)) << Case("select", elem, isa);
    }
  }
}

TEST(LanesTwins, Casts) {
  int found = 0;
  for (OpCode code : AllOpCodes()) {
    for (Elem from : kAllElems) {
      for (Elem to : kAllElems) {
        for (std::string_view rounding : {"", "rtz"}) {
          const UnaryFn plain = FindCast(code, from, to, rounding, Isa::kGeneric);
          if (plain == nullptr) continue;
          ++found;
          const Array in = RandomArray(from, kLanes, 12);
          Array expected(to, kLanes), out(to, kLanes);
          plain(in.data(), expected.data(), kLanes);
          for (Isa isa : AllIsas()) {
            FindCast(code, from, to, rounding, isa)(in.data(), out.data(), kLanes);
            const int64_t at = FirstDifference(expected, out);
            EXPECT_EQ(at, -1) << Case(OpName(code), from, isa) << " to " << static_cast<int>(to) << " "
                              << rounding;
          }
        }
      }
    }
  }
  EXPECT_EQ(found, 2 * (3 * 36 + 4 * 25 + 2 * 30 + 2 * 30));
}

}  // namespace
}  // namespace tritogen::tile::lanes
