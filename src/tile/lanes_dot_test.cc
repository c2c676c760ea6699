// Matrix products against f64 sums of the operands as each precision sees them.
#include <gtest/gtest.h>

#include <bit>
#include <functional>

#include "tile/lanes_test_util.h"

namespace tritogen::tile::lanes {
namespace {

const DotShape kShapes[] = {{1, 1, 1},     {16, 16, 16}, {64, 64, 32},  {3, 5, 7},     {13, 37, 300},
                            {128, 16, 64}, {2, 128, 1},  {16, 300, 20}, {32, 32, 1024}};

Array Normal(Elem elem, size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Array array(elem, n);
  for (size_t i = 0; i < n; ++i)
    array.Set(i, elem == Elem::kI8 ? random() & 0xff : FloatBits(elem, normal(random)));
  return array;
}

double Value(const Array& array, size_t i) {
  return array.elem == Elem::kI8 ? static_cast<int8_t>(array.Get(i)) : array.Float(i);
}

struct Sums {
  std::vector<double> value, size;  // Σ a·b, Σ |a·b|
};
Sums Reference(const Array& a, const Array& b, DotShape shape, const std::function<double(double)>& seen) {
  Sums sums{std::vector<double>(shape.m * shape.n), std::vector<double>(shape.m * shape.n)};
  for (size_t i = 0; i < shape.m; ++i) {
    for (size_t p = 0; p < shape.k; ++p) {
      for (size_t j = 0; j < shape.n; ++j) {
        const double product = seen(Value(a, i * shape.k + p)) * seen(Value(b, p * shape.n + j));
        sums.value[i * shape.n + j] += product;
        sums.size[i * shape.n + j] += std::fabs(product);
      }
    }
  }
  return sums;
}

// |result - (c + Σ)| ≤ relative · Σ|a·b|, plus one rounding of the result.
void ExpectDot(
    Elem in, Elem out_elem, DotPrecision precision, double relative, double last_place,
    const std::function<double(double)>& seen = [](double x) { return x; }) {
  for (DotShape shape : kShapes) {
    const Array a = Normal(in, shape.m * shape.k, 60), b = Normal(in, shape.k * shape.n, 61);
    const Array start = Normal(out_elem == Elem::kI32 ? Elem::kF32 : out_elem, shape.m * shape.n, 62);
    const Sums sums = Reference(a, b, shape, seen);
    for (Isa isa : AllIsas()) {
      Array out = start;
      std::vector<uint8_t> scratch(DotScratchBytes(shape) + 8, 0xee);
      FindDot(in, out_elem, precision, isa)(a.data(), b.data(), out.data(), shape, scratch.data());
      for (size_t i = 0; i < out.size(); ++i) {
        const double expected = start.Float(i) + sums.value[i];
        ASSERT_NEAR(out.Float(i), expected, relative * sums.size[i] + last_place * (std::fabs(expected) + 1))
            << Case("dot", in, isa) << " " << shape.m << "x" << shape.n << "x" << shape.k << " at " << i;
      }
      for (size_t i = 0; i < 8; ++i) ASSERT_EQ(scratch[scratch.size() - 8 + i], 0xee) << "scratch overrun";
    }
  }
}

double CutToTf32(double x) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(x)) & 0xffffe000u);
}

TEST(LanesDot, F32) {
  ExpectDot(Elem::kF32, Elem::kF32, DotPrecision::kIeee, 0x1p-20, 0x1p-23);
}
TEST(LanesDot, F64) {
  ExpectDot(Elem::kF64, Elem::kF64, DotPrecision::kIeee, 0x1p-49, 0x1p-52);
}
TEST(LanesDot, Tf32CutsItsOperands) {
  ExpectDot(Elem::kF32, Elem::kF32, DotPrecision::kTf32, 0x1p-20, 0x1p-23, CutToTf32);
}
TEST(LanesDot, Tf32x3IsNearlyF32) {
  ExpectDot(Elem::kF32, Elem::kF32, DotPrecision::kTf32x3, 0x1p-19, 0x1p-23);
}
TEST(LanesDot, Bf16x3KeepsSixteenBits) {
  ExpectDot(Elem::kF32, Elem::kF32, DotPrecision::kBf16x3, 0x1p-15, 0x1p-23);
}
TEST(LanesDot, Bf16x6IsNearlyF32) {
  ExpectDot(Elem::kF32, Elem::kF32, DotPrecision::kBf16x6, 0x1p-19, 0x1p-23);
}
TEST(LanesDot, SmallFloatsSumInF32) {
  for (Elem in : {Elem::kF16, Elem::kBF16, Elem::kF8E4M3, Elem::kF8E5M2}) {
    // Precision words mean nothing for these.
    for (DotPrecision precision : {DotPrecision::kIeee, DotPrecision::kTf32})
      ExpectDot(in, Elem::kF32, precision, 0x1p-20, 0x1p-23);
  }
}
TEST(LanesDot, F16ResultsRoundOnce) {
  for (Elem in : {Elem::kF16, Elem::kF8E4M3})
    ExpectDot(in, Elem::kF16, DotPrecision::kIeee, 0x1p-20, 0x1p-11);
}

// The cutting of tf32 is there at all: without it the error would be some thousand times smaller.
TEST(LanesDot, PrecisionsDiffer) {
  const DotShape shape{64, 64, 64};
  const Array a = Normal(Elem::kF32, 64 * 64, 63), b = Normal(Elem::kF32, 64 * 64, 64);
  const Sums sums = Reference(a, b, shape, [](double x) { return x; });
  const auto error = [&](DotPrecision precision) {
    Array out(Elem::kF32, 64 * 64);
    std::vector<uint8_t> scratch(DotScratchBytes(shape));
    FindDot(Elem::kF32, Elem::kF32, precision)(a.data(), b.data(), out.data(), shape, scratch.data());
    double worst = 0;
    for (size_t i = 0; i < out.size(); ++i)
      worst = std::fmax(worst, std::fabs(out.Float(i) - sums.value[i]) / sums.size[i]);
    return worst;
  };
  EXPECT_GT(error(DotPrecision::kTf32), 20 * error(DotPrecision::kBf16x3));
  EXPECT_GT(error(DotPrecision::kBf16x3), 5 * error(DotPrecision::kTf32x3));
  EXPECT_LT(error(DotPrecision::kBf16x6), 4 * error(DotPrecision::kIeee));
}

TEST(LanesDot, IntegersAreExactAndWrap) {
  for (DotShape shape : kShapes) {
    const Array a = Normal(Elem::kI8, shape.m * shape.k, 65), b = Normal(Elem::kI8, shape.k * shape.n, 66);
    const Sums sums = Reference(a, b, shape, [](double x) { return x; });
    for (Isa isa : AllIsas()) {
      Array out(Elem::kI32, shape.m * shape.n);
      for (size_t i = 0; i < out.size(); ++i) out.Set(i, 0x7fffffff);
      std::vector<uint8_t> scratch(DotScratchBytes(shape));
      FindDot(Elem::kI8, Elem::kI32, DotPrecision::kIeee, isa)(a.data(), b.data(), out.data(), shape,
                                                               scratch.data());
      for (size_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(out.Get(i), static_cast<uint32_t>(0x7fffffff + static_cast<int64_t>(sums.value[i])));
      }
    }
  }
}

// Infinite operands must not turn to NaN in the correction terms of the split precisions.
TEST(LanesDot, SplitPrecisionsKeepInfinity) {
  for (DotPrecision precision : {DotPrecision::kIeee, DotPrecision::kTf32, DotPrecision::kTf32x3,
                                 DotPrecision::kBf16x3, DotPrecision::kBf16x6}) {
    const DotShape shape{1, 2, 2};
    const float a[] = {INFINITY, 1}, b[] = {2, 3, NAN, 4};
    float out[] = {0, 0};
    std::vector<uint8_t> scratch(DotScratchBytes(shape));
    FindDot(Elem::kF32, Elem::kF32, precision)(a, b, out, shape, scratch.data());
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_EQ(out[1], INFINITY);
  }
}

TEST(LanesDot, UnknownPairsAreNotFound) {
  EXPECT_EQ(FindDot(Elem::kI8, Elem::kF32, DotPrecision::kIeee), nullptr);
  EXPECT_EQ(FindDot(Elem::kBF16, Elem::kF16, DotPrecision::kIeee), nullptr);
  EXPECT_EQ(FindDot(Elem::kI32, Elem::kI32, DotPrecision::kIeee), nullptr);
}

}  // namespace
}  // namespace tritogen::tile::lanes
