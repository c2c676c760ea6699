#include "verify/precision.h"

#include <gtest/gtest.h>

namespace tritogen {
namespace {

TEST(DowngradeRule, NeedsTheTraceAndTheSize) {
  const PrecisionTraces none, tf32{.tf32 = true}, half{.half = true}, both{.tf32 = true, .half = true};
  constexpr double kRms = 1e-4;  // what rounding to TF32 brings about
  EXPECT_EQ(DowngradeRule(none, kRms, kRms), "");
  EXPECT_EQ(DowngradeRule(tf32, kRms, kRms), "tf32");
  EXPECT_EQ(DowngradeRule(half, kRms, kRms), "half");
  EXPECT_EQ(DowngradeRule(half, 8 * kRms, kRms), "half") << "bfloat16";
  EXPECT_EQ(DowngradeRule(both, kRms, kRms), "tf32");
  EXPECT_EQ(DowngradeRule(both, 1, kRms), "") << "wrong altogether";
}

// Products of three bfloat16 numbers for each factor have the trace of half precision, and float32's errors.
TEST(DowngradeRule, IsNotGivenToErrorsAsSmallAsFloat32s) {
  const PrecisionTraces half{.half = true};
  EXPECT_EQ(DowngradeRule(half, 1e-7, 1e-4), "");
  EXPECT_EQ(DowngradeRule(half, 2e-6, 1e-4), "");
  EXPECT_EQ(DowngradeRule(half, 1e-5, 1e-4), "half") << "in a part of the program";
}

}  // namespace
}  // namespace tritogen
