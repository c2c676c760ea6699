#include "device/same_bits.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tritogen {
namespace {

TEST(SameBits, NanIsItselfAndMinusZeroIsNotZero) {
  at::Tensor x = at::randn({40, 7}), y;
  x[3][2] = NAN;
  y = x.clone();
  EXPECT_EQ(FirstDifferent({x}, {y}), std::nullopt);
  x[0][0] = 0.0;
  y[0][0] = -0.0;
  EXPECT_EQ(FirstDifferent({y, x}, {y, y}), 1u);
  EXPECT_EQ(FirstDifferent({x}, {x.to(at::kDouble)}), 0u);
  EXPECT_EQ(FirstDifferent({x}, {x.t()}), 0u);
  EXPECT_EQ(FirstDifferent({}, {}), std::nullopt);
}

TEST(SameBits, TheKernelCountsWhatTheLoopFinds) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBool, at::kLong}) {
    for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{}, {0}, {5}, {33, 129}}) {
      const at::Tensor x = at::randint(0, 2, sizes).to(dtype);
      EXPECT_EQ(CountDifferent(x, x.clone()).item<int>(), 0) << dtype;
      if (x.numel() == 0) continue;
      at::Tensor y = x.clone();
      y.flatten()[x.numel() - 1] = x.flatten()[x.numel() - 1].logical_not();
      EXPECT_EQ(CountDifferent(x, y).item<int>(), 1) << dtype;
      EXPECT_EQ(FirstDifferent({x}, {y}), 0u);
    }
  }
  const at::Tensor turned = at::randn({8, 9}).t();
  EXPECT_EQ(CountDifferent(turned, turned.clone()).item<int>(), 0);
}

}  // namespace
}  // namespace tritogen
