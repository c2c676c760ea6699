#include "verify/inputs_alike.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "verify/test_sketch.h"

namespace tritogen {
namespace {

TEST(Alike, SlicesAreTheSameOrOppositeOrAsGenerated) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const at::Tensor x = at::randn({9, 4, 5}), y = at::randn({9, 4, 5}), other = at::randn({9, 4});
    const auto alike = Alike({x, y, other}, seed);
    ASSERT_TRUE(alike);
    EXPECT_TRUE(alike->at(0).equal(x) && alike->at(2).equal(other));
    int same = 0, opposite = 0, generated = 0;
    for (int i = 0; i < 9; ++i) {
      same += alike->at(1)[i].equal(x[i]);
      opposite += alike->at(1)[i].equal(-x[i]);
      generated += alike->at(1)[i].equal(y[i]);
    }
    EXPECT_EQ(std::vector<int>({same, opposite, generated}), std::vector<int>({3, 3, 3}));
    EXPECT_TRUE(alike->at(1).equal(Alike({x, y, other}, seed)->at(1))) << "the same for the same seed";
  }
}

TEST(Alike, NothingIsNegatedWhereNothingIsNegative) {
  const at::Tensor x = at::rand({9}), y = at::rand({9});
  EXPECT_GE(Alike({x, y}, 1)->at(1).min().item<double>(), 0);
}

TEST(Alike, OfFewSlicesTheFirstIsTheSame) {
  const at::Tensor x = at::randn({2, 3}), y = at::randn({2, 3});
  const at::Tensor alike = Alike({x, y}, 4)->at(1);
  EXPECT_TRUE(alike[0].equal(x[0]) && alike[1].equal(-x[1]));
}

TEST(Alike, OthersStay) {
  const at::Tensor x = at::randn({9, 4}), mask = at::randn({9, 4}).gt(0).to(at::kFloat);
  EXPECT_FALSE(Alike({x, mask}, 1)) << "labels and masks";
  EXPECT_FALSE(Alike({x, x.to(at::kDouble)}, 1));
  EXPECT_FALSE(Alike({x, at::randn({4, 9})}, 1));
  EXPECT_FALSE(Alike({x, at::randn({4}).expand({9, 4})}, 1)) << "it has no memory of its own for each";
  EXPECT_FALSE(Alike({at::arange(9), at::arange(9)}, 1));
  const at::Tensor across = at::randn({4, 9}).t();
  EXPECT_EQ(Alike({x, across}, 1)->at(1).strides(), across.strides());
}

TEST(Alike, APlanHasThemOrNot) {
  const auto has = [](const char* one, const char* other, std::vector<int64_t> sizes) {
    Sketch sketch;
    sketch.Input(one, {8, 4}, {4, 1});
    sketch.Output(sketch.Input(other, sizes, {4, 1}));
    return HasAlike(sketch.Build());
  };
  EXPECT_TRUE(has("float32", "float32", {8, 4}));
  EXPECT_FALSE(has("float32", "float16", {8, 4}));
  EXPECT_FALSE(has("float32", "float32", {4, 4}));
  EXPECT_FALSE(has("int64", "int64", {8, 4}));
}

}  // namespace
}  // namespace tritogen
