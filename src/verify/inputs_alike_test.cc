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
    const auto alike = Alike({x, y, other}, false, seed);
    ASSERT_TRUE(alike);
    EXPECT_TRUE(alike->at(0).equal(x) && alike->at(2).equal(other));
    int same = 0, opposite = 0, generated = 0;
    for (int i = 0; i < 9; ++i) {
      same += alike->at(1)[i].equal(x[i]);
      opposite += alike->at(1)[i].equal(-x[i]);
      generated += alike->at(1)[i].equal(y[i]);
    }
    EXPECT_EQ(std::vector<int>({same, opposite, generated}), std::vector<int>({3, 3, 3}));
    EXPECT_TRUE(alike->at(1).equal(Alike({x, y, other}, false, seed)->at(1))) << "the same for the same seed";
  }
}

TEST(Alike, NothingIsNegatedWhereNothingIsNegative) {
  const at::Tensor x = at::rand({9}), y = at::rand({9});
  EXPECT_GE(Alike({x, y}, false, 1)->at(1).min().item<double>(), 0);
}

TEST(Alike, OfFewSlicesTheFirstIsTheSame) {
  const at::Tensor x = at::randn({2, 3}), y = at::randn({2, 3});
  const at::Tensor alike = Alike({x, y}, false, 4)->at(1);
  EXPECT_TRUE(alike[0].equal(x[0]) && alike[1].equal(-x[1]));
}

TEST(Alike, OthersStay) {
  const at::Tensor x = at::randn({9, 4}), mask = at::randn({9, 4}).gt(0).to(at::kFloat);
  EXPECT_FALSE(Alike({x, mask}, false, 1)) << "labels and masks";
  EXPECT_FALSE(Alike({x, x.to(at::kDouble)}, false, 1));
  EXPECT_FALSE(Alike({x, at::randn({4, 9})}, false, 1));
  EXPECT_FALSE(Alike({x, at::randn({4}).expand({9, 4})}, false, 1)) << "it has no memory of its own for each";
  EXPECT_FALSE(Alike({at::arange(9), at::arange(9)}, false, 1));
  const at::Tensor across = at::randn({4, 9}).t();
  EXPECT_EQ(Alike({x, across}, false, 1)->at(1).strides(), across.strides());
}

TEST(Alike, IntegersAreTheSameOrSoUpToAPlaceOrLater) {
  const at::Tensor x = at::randint(1000, {40, 16}, at::kLong), y = at::randint(1000, {40, 16}, at::kLong);
  const at::Tensor of_x = at::cat({x, at::tensor({0, 999}).repeat({1, 8})}),
                   of_y = at::cat({y, at::tensor({0, 999}).repeat({1, 8})});  // all may be taken
  const at::Tensor alike = Alike({of_x, of_y}, false, 7)->at(1);
  int same = 0, up_to_a_place = 0, later = 0, generated = 0;
  for (int i = 0; i < 40; ++i) {
    const at::Tensor equal = alike[i].eq(x[i]).to(at::kLong);
    const auto prefix = equal.cumprod(0).sum().item<int64_t>();
    same += prefix == 16;
    up_to_a_place += prefix > 0 && prefix < 16;
    later += alike[i].narrow(0, 1, 15).equal(x[i].narrow(0, 0, 15));
    generated += alike[i].equal(y[i]);
  }
  EXPECT_GE(same, 10);
  EXPECT_GE(up_to_a_place, 5);
  EXPECT_EQ(later, 10);
  EXPECT_GE(generated, 10);
}

TEST(Alike, IntegersStayBetweenTheirOwn) {
  const at::Tensor x = at::randint(1000, {40, 16}, at::kLong), y = at::randint(100, 200, {40, 16}, at::kLong);
  const at::Tensor alike = Alike({x, y}, false, 7)->at(1);
  EXPECT_GE(alike.min().item<int64_t>(), y.min().item<int64_t>());
  EXPECT_LE(alike.max().item<int64_t>(), y.max().item<int64_t>());
  EXPECT_FALSE(alike.equal(y));
  const at::Tensor one = at::randperm(64, at::kLong), other = at::randperm(64, at::kLong);
  EXPECT_TRUE(Alike({one, other}, false, 1));
  EXPECT_FALSE(Alike({one, other}, /*keeps_apart=*/true, 1)) << "two would be written to one place";
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
  EXPECT_TRUE(has("int64", "int64", {8, 4}));
  EXPECT_FALSE(has("int64", "int32", {8, 4}));
  EXPECT_FALSE(has("bool", "bool", {8, 4}));
}

}  // namespace
}  // namespace tritogen
