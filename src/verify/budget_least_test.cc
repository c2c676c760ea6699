// Numbers that the output's dtype hardly has (Expectation's rule `least`).
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "verify/budget.h"

namespace tritogen {
namespace {

// prod(x) of 1e-80 is 0 in float32, and what lies between that and the smallest normal number is zero on some
// hardware.
TEST(Budget, BelowTheSmallestNormalNumberAnythingIsRight) {
  for (const auto way : {Expectation::Way::kLoops, Expectation::Way::kKernels}) {
    const auto is_right = [&](double exact, at::ScalarType dtype, double got) {
      const at::Tensor expected = at::full({}, exact, at::kDouble);
      const at::Tensor eager = at::full({}, NAN, dtype);  // whose error says nothing
      return Expectation(expected, eager, {}, {}, way).Compare(at::full({}, got, dtype)).ok;
    };
    EXPECT_TRUE(is_right(8e-80, at::kFloat, 0));
    EXPECT_TRUE(is_right(-1e-38, at::kBFloat16, 0));
    EXPECT_FALSE(is_right(1.5e-38, at::kFloat, 0));
    EXPECT_FALSE(is_right(8e-80, at::kFloat, 1e-30));
    EXPECT_FALSE(is_right(8e-80, at::kDouble, 0));
    EXPECT_FALSE(is_right(3e-5, at::kHalf, 0)) << "half precision needs such numbers";
  }
}

}  // namespace
}  // namespace tritogen
