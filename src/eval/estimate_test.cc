#include "eval/estimate.h"

#include <gtest/gtest.h>

#include <bit>

namespace tritogen::eval {
namespace {

// All subsets of k of n samples, the first c of which passed: the share of those with one that passed.
double Counted(int n, int c, int k) {
  int64_t sets = 0, good = 0;
  for (uint32_t set = 0; set < 1u << n; ++set) {
    if (std::popcount(set) != k) continue;
    ++sets;
    good += (set & ((1u << c) - 1)) != 0;
  }
  return static_cast<double>(good) / static_cast<double>(sets);
}

TEST(PassAtK, IsTheShareOfAllSubsetsThatHaveOneThatPassed) {
  for (int n = 1; n <= 9; ++n) {
    for (int c = 0; c <= n; ++c) {
      for (int k = 1; k <= n; ++k) EXPECT_NEAR(PassAtK(n, c, k), Counted(n, c, k), 1e-12) << n << c << k;
    }
  }
  EXPECT_NEAR(PassAtK(10000, 1, 1), 1e-4, 1e-12);
}

TEST(MeanOf, IsWilsonsIntervalForOneSampleAProgram) {
  // 8 of 10: by hand, (0.8 + z²/20 ± z sqrt(0.16/10 + z²/400)) / (1 + z²/10) with z = 1.96.
  const Estimate e = MeanOf({1, 1, 1, 1, 1, 1, 1, 1, 0, 0});
  EXPECT_NEAR(e.value, 0.8, 1e-12);
  EXPECT_NEAR(e.low, 0.4902, 2e-4);
  EXPECT_NEAR(e.high, 0.9433, 2e-4);
  EXPECT_EQ(e.count, 10);
}

TEST(MeanOf, AllEqualIsNotCertain) {
  const Estimate all = MeanOf(std::vector<double>(100, 1.0)), none = MeanOf(std::vector<double>(100, 0.0));
  EXPECT_EQ(all.high, 1);
  EXPECT_NEAR(all.low, 0.963, 1e-3);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 0.037, 1e-3);
  EXPECT_EQ(MeanOf({}).count, 0);
}

TEST(MeanOf, ManySamplesOfOneProgramAreNotManyPrograms) {
  // Each program passes with half of its samples: more is known than from one sample each.
  const Estimate half = MeanOf(std::vector<double>{0.4, 0.6, 0.4, 0.6, 0.5, 0.5, 0.4, 0.6});
  const Estimate coin = MeanOf(std::vector<double>{1, 0, 1, 0, 1, 0, 1, 0});
  EXPECT_LT(half.high - half.low, coin.high - coin.low);
}

}  // namespace
}  // namespace tritogen::eval
