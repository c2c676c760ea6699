#include "base/stages.h"

#include <gtest/gtest.h>

#include <thread>

namespace tritogen {
namespace {

void Spend(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

TEST(Stages, InnerTimeIsNotTheOuterStages) {
  Stages stages;
  {
    const Stage outer("outer");
    Spend(2);
    const Stage inner("inner");
    Spend(200);
  }
  EXPECT_GE(stages.seconds().at("inner"), 0.2);
  EXPECT_GE(stages.seconds().at("outer"), 0.002);
  EXPECT_LT(stages.seconds().at("outer"), stages.seconds().at("inner"));
}

TEST(Stages, TheSameStageTwiceAddsUp) {
  Stages stages;
  for (int i = 0; i < 2; ++i) {
    const Stage stage("work");
    Spend(5);
  }
  EXPECT_GE(stages.seconds().at("work"), 0.01);
  EXPECT_EQ(stages.seconds().size(), 1u);
}

TEST(Stages, WithoutStagesNothingIsKept) {
  { const Stage stage("lost"); }
  Stages stages;
  EXPECT_TRUE(stages.seconds().empty());
}

}  // namespace
}  // namespace tritogen
