#include "verify/asked_ties.h"

#include <gtest/gtest.h>

#include <cmath>

#include "verify/test_sketch.h"

namespace tritogen {
namespace {

std::set<double> TiesOfOnly(const Plan& plan) {
  return TiesWithin(plan, std::get<AtenStep>(plan.run.at(0)));
}

TEST(AskedTies, AreHalvesOfAScaleThatIsAPowerOfTwo) {
  const auto ties = [](double scale) {
    Sketch sketch;
    const int x = sketch.Input("float32", {8}, {1}), y = sketch.Tensor("float32", {8}, {1});
    sketch.Step("run", "aten::fake_quantize_per_tensor_affine", {T(x), scale, 3, -128, 127}, {y});
    sketch.Output(y);
    return TiesOfOnly(sketch.Build());
  };
  EXPECT_TRUE(ties(0.0625).contains(2.5 / 16) && ties(0.0625).contains(-1.5 / 16));
  EXPECT_TRUE(ties(0.1).empty()) << "what lies halfway hangs on how it is divided";
}

std::set<double> TiesOfGrid(int64_t mode, int64_t height, int64_t width, bool corners) {
  Sketch sketch;
  const int x = sketch.Input("float32", {1, 1, height, width}, {height * width, height * width, width, 1}),
            grid = sketch.Input("float32", {1, 4, 4, 2}, {32, 8, 2, 1}),
            y = sketch.Tensor("float32", {1, 1, 4, 4}, {16, 16, 4, 1});
  sketch.Step("run", "aten::grid_sampler_2d", {T(x), T(grid), mode, 0, corners}, {y});
  sketch.Output(y);
  return TiesOfOnly(sketch.Build());
}

TEST(AskedTies, LieBetweenElementsOfAGrid) {
  const std::set<double> ties = TiesOfGrid(1, 8, 16, false), aligned = TiesOfGrid(1, 9, 9, true);
  int even = 0, odd = 0;
  for (const double g : ties) {
    const double x = ((g + 1) * 16 - 1) / 2, y = ((g + 1) * 8 - 1) / 2;
    EXPECT_TRUE(x - std::floor(x) == 0.5 || y - std::floor(y) == 0.5) << g;
    ++(static_cast<int>(std::floor(x)) % 2 == 0 ? even : odd);
  }
  EXPECT_TRUE(even > 1 && odd > 1) << "of which every second one is rounded up";
  EXPECT_FALSE(aligned.empty());
  for (const double g : aligned) EXPECT_EQ((g + 1) * 4 - std::floor((g + 1) * 4), 0.5) << g;
  EXPECT_TRUE(TiesOfGrid(0, 8, 16, false).empty()) << "between neighbours nothing is rounded";
  EXPECT_TRUE(TiesOfGrid(1, 7, 7, false).empty()) << "float32 has no sevenths";
}

}  // namespace
}  // namespace tritogen
