// Reductions and scans: shapes of every kind, order-free operations exactly, sums within the error of a tree.
#include <gtest/gtest.h>

#include "tile/lanes_test_util.h"

namespace tritogen::tile::lanes {
namespace {

struct Shape {
  size_t outer, axis, inner;
};
const Shape kShapes[] = {{1, 1, 1},   {1, 2, 1},   {3, 8, 1},    {2, 16, 1},   {2, 64, 1},
                         {1, 100, 1}, {1, 512, 1}, {2, 1000, 1}, {1, 4096, 1}, {1, 1, 16},
                         {2, 2, 64},  {3, 16, 16}, {1, 17, 33},  {2, 64, 128}, {1, 128, 5}};

const std::vector<OpCode> kIntegerCombines{OpCode::kAddI,  OpCode::kMulI,  OpCode::kAndI,
                                           OpCode::kOrI,   OpCode::kXorI,  OpCode::kMinSI,
                                           OpCode::kMaxSI, OpCode::kMinUI, OpCode::kMaxUI};
const std::vector<OpCode> kFloatCombines{OpCode::kAddF,    OpCode::kMulF,     OpCode::kMinNumF,
                                         OpCode::kMaxNumF, OpCode::kMinimumF, OpCode::kMaximumF};

// Left fold with the element-wise function: right wherever the order does not matter.
Array Fold(OpCode code, const Array& in, Shape shape, bool scan, bool reverse) {
  const auto combine = FindBinary(code, in.elem, Isa::kGeneric).vv;
  const int bytes = ElemBytes(in.elem);
  Array out(in.elem, scan ? in.size() : shape.outer * shape.inner);
  for (size_t o = 0; o < shape.outer; ++o) {
    std::vector<uint8_t> running;
    for (size_t step = 0; step < shape.axis; ++step) {
      const size_t k = reverse ? shape.axis - 1 - step : step;
      const uint8_t* row = &in.bytes[(o * shape.axis + k) * shape.inner * bytes];
      if (step == 0)
        running.assign(row, row + shape.inner * bytes);
      else
        combine(running.data(), row, running.data(), shape.inner);
      if (scan)
        std::memcpy(&out.bytes[(o * shape.axis + k) * shape.inner * bytes], running.data(), running.size());
    }
    if (!scan) std::memcpy(&out.bytes[o * shape.inner * bytes], running.data(), running.size());
  }
  return out;
}

Array Reduced(OpCode code, const Array& in, Shape shape, Isa isa) {
  Array out(in.elem, shape.outer * shape.inner);
  FindReduce(code, in.elem, isa)(in.data(), out.data(), shape.outer, shape.axis, shape.inner);
  return out;
}
Array Scanned(OpCode code, const Array& in, Shape shape, bool reverse, Isa isa) {
  Array out = in;  // in place
  FindScan(code, in.elem, isa)(out.data(), out.data(), shape.outer, shape.axis, shape.inner, reverse);
  return out;
}

void ExpectFold(OpCode code, const Array& in, Shape shape) {
  const Array reduced = Fold(code, in, shape, false, false);
  for (Isa isa : AllIsas()) {
    EXPECT_EQ(FirstDifference(reduced, Reduced(code, in, shape, isa)), -1)
        << Case(OpName(code), in.elem, isa) << " axis " << shape.axis << " inner " << shape.inner;
    for (bool reverse : {false, true}) {
      EXPECT_EQ(FirstDifference(Fold(code, in, shape, true, reverse), Scanned(code, in, shape, reverse, isa)),
                -1)
          << "scan " << Case(OpName(code), in.elem, isa) << " axis " << shape.axis << " inner "
          << shape.inner;
    }
  }
}

TEST(LanesReduce, IntegersInAnyShape) {
  for (OpCode code : kIntegerCombines) {
    for (Elem elem : kIntegers) {
      for (Shape shape : kShapes)
        ExpectFold(code, RandomArray(elem, shape.outer * shape.axis * shape.inner, 50), shape);
    }
  }
}

TEST(LanesReduce, MinimaAndMaximaWithNan) {
  for (OpCode code : {OpCode::kMinNumF, OpCode::kMaxNumF, OpCode::kMinimumF, OpCode::kMaximumF}) {
    for (Elem elem : kFloats) {
      for (Shape shape : kShapes)
        ExpectFold(code, RandomArray(elem, shape.outer * shape.axis * shape.inner, 51), shape);
    }
  }
}

// Whatever the tree, all builds walk the same one.
TEST(LanesReduce, EveryBuildGivesTheSameBits) {
  for (OpCode code : kFloatCombines) {
    for (Elem elem : kFloats) {
      for (Shape shape : kShapes) {
        const Array in = RandomArray(elem, shape.outer * shape.axis * shape.inner, 52);
        const Array reduced = Reduced(code, in, shape, Isa::kGeneric),
                    scanned = Scanned(code, in, shape, false, Isa::kGeneric);
        for (Isa isa : AllIsas()) {
          EXPECT_EQ(FirstDifference(reduced, Reduced(code, in, shape, isa)), -1)
              << Case(OpName(code), elem, isa);
          EXPECT_EQ(FirstDifference(scanned, Scanned(code, in, shape, false, isa)), -1)
              << Case(OpName(code), elem, isa);
        }
      }
    }
  }
}

// 2^20 times 0.1 in f32: a running sum is off by 1e-3 relative, a tree by no more than 20 roundings.
TEST(LanesReduce, SumsLikeATree) {
  const size_t n = 1 << 20;
  const std::vector<float> in(n, 0.1f);
  const double exact = static_cast<double>(0.1f) * n;
  for (Shape shape : {Shape{1, n, 1}, Shape{1, n / 4, 4}}) {
    std::vector<float> out(shape.inner), scanned(n);
    FindReduce(OpCode::kAddF, Elem::kF32)(in.data(), out.data(), 1, shape.axis, shape.inner);
    for (float sum : out) EXPECT_NEAR(sum * static_cast<double>(shape.inner), exact, exact * 24 * 0x1p-24);
    FindScan(OpCode::kAddF, Elem::kF32)(in.data(), scanned.data(), 1, shape.axis, shape.inner, false);
    EXPECT_NEAR(scanned[n - 1] * static_cast<double>(shape.inner), exact, exact * 24 * 0x1p-24);
  }
}

// f16 adds in f16: 2048 + 1 stays 2048.
TEST(LanesReduce, SmallFloatsRoundAtEveryStep) {
  for (Isa isa : AllIsas()) {
    const uint16_t in[] = {FloatToHalf(2048), FloatToHalf(1)};
    uint16_t out;
    FindReduce(OpCode::kAddF, Elem::kF16, isa)(in, &out, 1, 2, 1);
    EXPECT_EQ(HalfToFloat(out), 2048);
    const uint16_t big[] = {FloatToHalf(60000), FloatToHalf(60000)};
    FindReduce(OpCode::kAddF, Elem::kF16, isa)(big, &out, 1, 2, 1);
    EXPECT_EQ(HalfToFloat(out), INFINITY);
  }
}

TEST(LanesReduce, OnlyCombinesAreFound) {
  EXPECT_EQ(FindReduce(OpCode::kSubI, Elem::kI32), nullptr);
  EXPECT_EQ(FindScan(OpCode::kDivF, Elem::kF32), nullptr);
  EXPECT_EQ(FindReduce(OpCode::kAddF, Elem::kI32), nullptr);
  EXPECT_EQ(FindScan(OpCode::kAddI, Elem::kF32), nullptr);
}

}  // namespace
}  // namespace tritogen::tile::lanes
