#include "verify/meant_infinities.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "verify/test_builder.h"

namespace tritogen {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

at::Tensor Numbers(std::vector<double> numbers) {
  return at::tensor(numbers, at::kDouble);
}

TEST(MeantInfinities, AreOfTheKindsThatGeneratedInputsBringAbout) {
  const at::Tensor base = Numbers({1, -kInf, 2, 3}), other = Numbers({-kInf, 1, 2, kInf});
  const NonFinite kind = NonFiniteIn(base);
  EXPECT_TRUE(kind.below && !kind.above && !kind.nan);
  EXPECT_TRUE(WithMeant(base, kind, other, other, {other}).equal(Numbers({-kInf, -kInf, 2, 3})));
  EXPECT_FALSE(NonFiniteIn(Numbers({1, 2})).Any());
}

// What overflows in the declared precision alone, or hangs on rounding, is none of an honest program's.
TEST(MeantInfinities, AreWhereAllPrecisionsHaveThem) {
  const at::Tensor base = Numbers({kNan, 1, 1}), exact = Numbers({1, kNan, 1}),
                   eager = Numbers({1, kNan, kNan});
  const NonFinite kind = NonFiniteIn(base);
  EXPECT_TRUE(WithMeant(base, kind, exact, exact, {exact}).narrow(0, 1, 1).isnan().all().item<bool>());
  EXPECT_FALSE(WithMeant(base, kind, exact, eager, {exact}).narrow(0, 1, 2).isnan().any().item<bool>());
  EXPECT_FALSE(
      WithMeant(base, kind, exact, exact, {exact, eager}).narrow(0, 1, 2).isnan().any().item<bool>());
}

TEST(MeantInfinities, AreNamedByNumbersOfCalls) {
  Builder b;
  const TensorId x = b.Input({4}), mask = b.Input({4}), y = b.Tensor({4});
  b.Call("aten::masked_fill.Scalar", {x, mask}, {y}).args.push_back(Value{1e9});
  Plan plan = b.Return(y);
  EXPECT_FALSE(NonFiniteNamed(plan).Any());
  std::get<AtenStep>(plan.run[0]).args.back() = Value{-kInf};
  const NonFinite named = NonFiniteNamed(plan);
  EXPECT_TRUE(named.below && !named.above && !named.nan);
}

}  // namespace
}  // namespace tritogen
