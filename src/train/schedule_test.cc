#include "train/schedule.h"

#include <gtest/gtest.h>

namespace tritogen::train {
namespace {

TEST(ScheduleTest, WarmsUpToTheFullRate) {
  const ScheduleOptions options{.lr = 2, .warmup = 4};
  EXPECT_DOUBLE_EQ(LearningRate(options, 0, 100), 0.5);
  EXPECT_DOUBLE_EQ(LearningRate(options, 3, 100), 2);
  EXPECT_DOUBLE_EQ(LearningRate(options, 4, 100), 2);
}

TEST(ScheduleTest, WsdStaysAndFallsAtTheEnd) {
  const ScheduleOptions options{.lr = 1, .min_lr = 0.1, .warmup = 0, .shape = "wsd", .decay_share = 0.25};
  EXPECT_DOUBLE_EQ(LearningRate(options, 75, 100), 1);
  EXPECT_NEAR(LearningRate(options, 84, 100), 0.1 + 0.9 * (1 - 0.6), 1e-12);  // 9 of 25 steps: √0.36
  EXPECT_DOUBLE_EQ(LearningRate(options, 100, 100), 0.1);
  EXPECT_DOUBLE_EQ(LearningRate(options, 1'000'000, 0), 1) << "the end is not known";
}

TEST(ScheduleTest, CosineFallsByHalfInTheMiddle) {
  const ScheduleOptions options{.lr = 1, .min_lr = 0.2, .warmup = 10, .shape = "cosine"};
  EXPECT_NEAR(LearningRate(options, 55, 100), 0.6, 1e-12);
  EXPECT_NEAR(LearningRate(options, 100, 100), 0.2, 1e-12);
}

TEST(ScheduleTest, FewerStepsThanItsPartsAreNoFault) {
  for (const char* shape : {"wsd", "cosine"}) {
    const ScheduleOptions options{.lr = 1, .warmup = 10, .shape = shape, .decay_share = 1};
    for (int64_t step = 0; step < 12; ++step) EXPECT_GE(LearningRate(options, step, 3), 0) << shape << step;
  }
}

}  // namespace
}  // namespace tritogen::train
