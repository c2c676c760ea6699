#include "verify/sensitivity.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace tritogen {
namespace {

at::Tensor Trained(const at::Tensor& made, bool mild = false) {
  const StateEntry parameter{.name = "w", .is_parameter = true};
  return AsIfTrained(parameter, made, made, mild, 7).value();
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

TEST(AsIfTrained, MildlyOnlyScales) {
  const at::Tensor triangle = at::ones({8, 8}).tril(), trained = Trained(triangle, /*mild=*/true);
  EXPECT_TRUE(trained.triu(1).eq(0).all().item<bool>());
  EXPECT_TRUE(trained.diagonal().ge(0.5).all().item<bool>());
}

TEST(AsIfTrained, IsForParametersAlone) {
  const StateEntry buffer{.name = "mask", .is_parameter = false};
  EXPECT_FALSE(AsIfTrained(buffer, at::ones({4}), at::ones({4}), false, 7));
}

}  // namespace
}  // namespace tritogen
