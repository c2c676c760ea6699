#include "verify/inputs_sunk.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace tritogen {
namespace {

Asked Sinks() {
  Asked asked;
  asked.integers.sinks = true;
  return asked;
}

TEST(Sunk, IntegersLieFarBelowZeroAsFarApartAsBefore) {
  for (const auto dtype : {at::kInt, at::kLong}) {
    const at::Tensor x = at::randint(0, 1000, {32, 50}, dtype), y = at::randint(0, 900, {16}, dtype);
    const auto sunk = Sunk({Sinks(), Sinks()}, {x, y});
    ASSERT_TRUE(sunk);
    const auto by = (x - sunk->at(0)).flatten();
    EXPECT_TRUE(by.eq(by[0]).all().item<bool>());
    EXPECT_TRUE((y - sunk->at(1)).eq(by[0]).all().item<bool>()) << "keys that were equal are";
    EXPECT_LT(sunk->at(0).max().item<int64_t>(), -(int64_t{1} << 29));
    EXPECT_EQ(sunk->at(0).scalar_type(), dtype);
    const at::Tensor narrow = sunk->at(0).to(dtype == at::kInt ? at::kShort : at::kInt);
    EXPECT_FALSE(at::argsort(narrow, int64_t{-1}, false).equal(at::argsort(x, int64_t{-1}, false)))
        << "half of the bits order them otherwise";
  }
}

TEST(Sunk, OthersStay) {
  const at::Tensor x = at::randint(0, 1000, {64}, at::kLong);
  EXPECT_FALSE(Sunk({Asked()}, {x}));
  EXPECT_FALSE(Sunk({Sinks()}, {at::randint(0, 20, {64}, at::kLong)})) << "categories";
  EXPECT_FALSE(Sunk({Sinks()}, {x.to(at::kShort)}));
  EXPECT_FALSE(Sunk({Sinks()}, {x * (int64_t{1} << 52)})) << "there is no room";
  const auto sunk = Sunk({Asked(), Sinks()}, {x, x});
  EXPECT_TRUE(sunk->at(0).equal(x));
}

}  // namespace
}  // namespace tritogen
