#include "verify/sensitivity.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "verify/test_sketch.h"

namespace tritogen {
namespace {

at::Tensor Trained(const at::Tensor& made, bool mild = false, const WeightAsked& asked = {}) {
  const StateEntry parameter{.name = "w", .is_parameter = true};
  return AsIfTrained(parameter, made, made, asked, mild, 7).value();
}

TEST(AsIfTrained, LeavesNothingOfHowAConstructorMadeIt) {
  const at::Tensor eye = at::eye(8), trained = Trained(eye);
  EXPECT_FALSE(trained.matmul(trained.t()).allclose(eye, 0, 0.1));
  const at::Tensor gains = Trained(at::ones({64}));
  EXPECT_TRUE(gains.lt(0).any().item<bool>() && gains.gt(0).any().item<bool>());
  EXPECT_GE(gains.abs().min().item<double>(), 0.5);
  EXPECT_FALSE(Trained(at::arange(64).to(at::kFloat)).diff().gt(0).all().item<bool>());
}

TEST(AsIfTrained, KeepsDifferentPositiveNumbersPositive) {
  EXPECT_TRUE(Trained(at::rand({64})).ge(0).all().item<bool>()) << "decays, variances";
}

TEST(AsIfTrained, HasTheSignsThatForwardAsksFor) {
  const auto asked = [](const char* op) {
    Sketch sketch;
    const int w = sketch.Tensor("float32", {64}, {1}), y = sketch.Tensor("float32", {64}, {1});
    sketch.Step("setup", "aten::zeros", {json::array({64})}, {w});
    sketch.map["state"].push_back({"w", w, "parameter"});
    sketch.Step("run", op, {T(w)}, {y});
    sketch.Output(y);
    const Plan plan = sketch.Build();
    return Trained(at::rand({64}), false, AskedOfWeight(plan, plan.state.at(0)));
  };
  EXPECT_FALSE(asked("aten::exp").lt(0).any().item<bool>());
  EXPECT_TRUE(asked("aten::abs").lt(0).any().item<bool>());
  EXPECT_FALSE(asked("aten::abs").eq(0).any().item<bool>());
  EXPECT_TRUE(asked("aten::sign").eq(0).any().item<bool>());
}

TEST(AsIfTrained, HasRowsOfOtherSizesWhereForwardAsksForThem) {
  const auto norms = [](bool asked) {
    return Trained(at::ones({50, 32}), false, {.size = asked}).norm(2, {1}).div(std::sqrt(32));
  };
  EXPECT_GT(norms(false).min().item<double>(), 0.5);
  EXPECT_LT(norms(true).min().item<double>(), 0.2);
  EXPECT_GT(norms(true).max().item<double>(), 5);
}

TEST(AsIfTrained, SomeRowsLieBeyondABoundWhateverTheSeed) {
  const StateEntry parameter{.name = "table", .is_parameter = true};
  const at::Tensor made = at::randn({50, 32}) * 0.02;  // of a size of 0.1
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const at::Tensor sizes = AsIfTrained(parameter, made, made, {.size = true}, false, seed)->norm(2, {1});
    EXPECT_GT(sizes.gt(2).sum().item<int64_t>(), 8) << seed;
    EXPECT_GT(sizes.lt(0.05).sum().item<int64_t>(), 8) << seed;
    EXPECT_LT(sizes.max().item<double>(), 100) << seed;
  }
}

TEST(AsIfTrained, FewGainsHaveEitherSignWhateverTheSeed) {
  const StateEntry parameter{.name = "gain", .is_parameter = true};
  for (const int64_t n : {2, 3, 8, 64}) {
    const at::Tensor made = at::ones({n});
    for (uint64_t seed = 1; seed <= 200; ++seed) {
      const int64_t negative =
          AsIfTrained(parameter, made, made, {}, false, seed)->lt(0).sum().item<int64_t>();
      EXPECT_TRUE(negative == n / 2 || negative == (n + 1) / 2) << n << " " << seed;
    }
  }
}

TEST(AsIfTrained, MildlyOnlyScales) {
  const at::Tensor triangle = at::ones({8, 8}).tril(), trained = Trained(triangle, /*mild=*/true);
  EXPECT_TRUE(trained.triu(1).eq(0).all().item<bool>());
  EXPECT_TRUE(trained.diagonal().ge(0.5).all().item<bool>());
}

TEST(AsIfTrained, IsForParametersAlone) {
  const StateEntry buffer{.name = "mask", .is_parameter = false};
  EXPECT_FALSE(AsIfTrained(buffer, at::ones({4}), at::ones({4}), {}, false, 7));
}

}  // namespace
}  // namespace tritogen
