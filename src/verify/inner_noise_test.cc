#include "verify/inner_noise.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "verify/test_builder.h"

namespace tritogen {
namespace {

TEST(InnerNoise, IsWhereStatisticsAreOfComputedValues) {
  Builder b;
  const TensorId x = b.Input({4, 8}), y = b.Tensor({4, 8}), of_input = b.Tensor({4, 8}), z = b.Tensor({4, 8});
  b.Call("aten::exp", {x}, {y});
  b.Call("aten::layer_norm", {x}, {of_input});
  b.Call("aten::layer_norm", {y}, {z});
  b.Call("aten::scaled_dot_product_attention", {x, x, x}, {b.Tensor({4, 8})});
  const Plan plan = b.Return(z);
  std::vector<Probe> probes = InnerProbes(plan);
  std::erase_if(probes, [](const Probe& probe) { return probe.of_result; });
  ASSERT_EQ(probes.size(), 2u);
  EXPECT_EQ(probes[0].tensor, y);
  EXPECT_EQ(probes[1].step->op, "aten::scaled_dot_product_attention");
  EXPECT_EQ(probes[1].tensor, x) << "scores are rounded although keys are an input";
}

TEST(InnerNoise, IsOfTheLastPlace) {
  Builder b;
  const TensorId x = b.Input({4, 8}), y = b.Tensor({4, 8}), z = b.Tensor({4, 8});
  b.Call("aten::exp", {x}, {y});
  b.Call("aten::layer_norm", {y}, {z});
  b.Call("aten::scaled_dot_product_attention", {y, y, y}, {b.Tensor({4, 8})});
  const Plan plan = b.Return(z);
  std::vector<Probe> probes = InnerProbes(plan);
  std::erase_if(probes, [](const Probe& probe) { return probe.of_result; });
  ASSERT_EQ(probes.size(), 2u);
  for (Probe& probe : probes) probe.seen = at::rand({4, 8}, at::kDouble) + 1;
  probes[0].seen[1][2] = 3;
  MoveInside(7, /*rounded_only=*/true, &probes);
  EXPECT_EQ(probes[0].nudge[1][2].item<double>(), 0);
  MoveInside(7, /*rounded_only=*/false, &probes);
  EXPECT_NE(probes[0].nudge[1][2].item<double>(), 0);
  const at::Tensor relative = probes[0].nudge / probes[0].seen, of_keys = probes[1].nudge / probes[1].seen;
  EXPECT_LE(relative.abs().max().item<double>(), 5 * 0x1p-24);
  EXPECT_LE(of_keys.abs().max().item<double>(), 0x1p-24);
  EXPECT_GT(relative.abs().max().item<double>(), 0x1p-26);
  EXPECT_TRUE(of_keys.allclose(of_keys.narrow(1, 0, 1).expand({4, 8}))) << "all numbers of a key alike";
}

TEST(InnerNoise, NeighboursInAStatisticMoveTogether) {
  Builder b;
  const TensorId x = b.Input({64, 400}), y = b.Tensor({64, 400}), z = b.Tensor({64, 400});
  b.Call("aten::exp", {x}, {y});
  b.Call("aten::layer_norm", {y}, {z});
  const Plan plan = b.Return(z);
  std::vector<Probe> probes = InnerProbes(plan);
  std::erase_if(probes, [](const Probe& probe) { return probe.of_result; });
  ASSERT_EQ(probes.size(), 1u);
  probes[0].seen = at::full({64, 400}, 0.7, at::kDouble);
  MoveInside(7, /*rounded_only=*/false, &probes);
  const at::Tensor quarters = (probes[0].nudge / 0.7).view({64, 4, 100}).mean(2);
  EXPECT_GT(quarters.abs().max().item<double>(), 0x1p-24)
      << "100 that move each by itself would move it by less";
  EXPECT_GT(quarters.std(1).min().item<double>(), 0x1p-28) << "a norm takes away what all have in common";
}

TEST(InnerNoise, WhatGivesNoTensorHasNone) {
  Builder b;
  const TensorId x = b.Input({4, 8}), y = b.Tensor({4, 8});
  b.Call("aten::softplus", {x}, {kNoTensor});
  b.Call("aten::neg", {x}, {y});
  EXPECT_TRUE(InnerProbes(b.Return(y)).empty());
}

TEST(InnerNoise, SmallResultsMoveByRoundingsOfOne) {
  Builder b;
  const TensorId x = b.Input({4, 8}), y = b.Tensor({4, 8});
  b.Call("aten::softplus", {x}, {y});
  const Plan plan = b.Return(y);
  std::vector<Probe> probes = InnerProbes(plan);
  ASSERT_EQ(probes.size(), 1u);
  EXPECT_TRUE(probes[0].of_result && probes[0].tensor == y);
  probes[0].seen = at::full({4, 8}, 1e-5, at::kDouble);
  MoveInside(7, /*rounded_only=*/false, &probes);
  EXPECT_GT(probes[0].nudge.abs().max().item<double>(), 0x1p-25);
  EXPECT_LE(probes[0].nudge.abs().max().item<double>(), 0x1p-22);
}

TEST(InnerNoise, EachResultOfAScanMovesByItself) {
  Builder b;
  const TensorId x = b.Input({2, 8}), sums = b.Tensor({2, 8}), products = b.Tensor({2, 8});
  b.Call("aten::cumsum", {x}, {sums}).args.push_back(Value{int64_t{1}});
  b.Call("aten::cumprod", {x}, {products}).args.push_back(Value{int64_t{1}});
  const Plan plan = b.Return(products);
  std::vector<Probe> probes = InnerProbes(plan);
  ASSERT_EQ(probes.size(), 2u);
  EXPECT_FALSE(MovesNearOne(probes[0]) || MovesNearOne(probes[1]));
  for (Probe& probe : probes) probe.seen = at::full({2, 8}, 1e-6, at::kDouble);
  for (Probe& probe : probes) probe.seen.select(1, 3).fill_(-100);
  MoveInside(7, /*rounded_only=*/false, &probes);
  const at::Tensor of_sums = probes[0].nudge.abs(), of_products = probes[1].nudge.abs();
  EXPECT_LE(of_sums.narrow(1, 0, 3).max().item<double>(), 1e-6 * 0x1p-22);
  EXPECT_GT(of_sums.narrow(1, 4, 4).max().item<double>(), 100 * 0x1p-25) << "what is left of a large sum";
  EXPECT_LE(of_sums.max().item<double>(), 100 * 0x1p-22);
  EXPECT_LE(of_products.narrow(1, 4, 4).max().item<double>(), 1e-6 * 0x1p-22);
  EXPECT_GT((of_products[0] - of_products[1]).abs().min().item<double>(), 0);
}

TEST(InnerNoise, ExponentialsAreOffAlike) {
  Builder b;
  const TensorId x = b.Input({64, 64}), y = b.Tensor({64, 64}), z = b.Tensor({64, 64});
  b.Call("aten::exp", {x}, {y});
  b.Call("aten::pow", {y}, {z});
  const Plan plan = b.Return(z);
  std::vector<Probe> probes = InnerProbes(plan);
  ASSERT_EQ(probes.size(), 2u);
  EXPECT_TRUE(MovesExponential(probes[0]) && MovesExponential(probes[1]));
  for (Probe& probe : probes) probe.seen = at::rand({64, 64}, at::kDouble) + 1;
  MoveInside(7, /*rounded_only=*/false, &probes);
  const at::Tensor one = probes[0].nudge / probes[0].seen, other = probes[1].nudge / probes[1].seen;
  EXPECT_LE((one.mean() - other.mean()).abs().item<double>(), 0x1p-27)
      << "thousands by themselves are off by less in the mean";
  EXPECT_GT((one - other).abs().min().item<double>(), 0) << "each by itself, too";
  EXPECT_LE(one.abs().max().item<double>(), 0x1p-22);
}

TEST(InnerNoise, NormsMoveWhatTheyAreGivenAndWhatTheyGive) {
  Builder b;
  const TensorId x = b.Input({4, 8}), y = b.Tensor({4, 8}), of_input = b.Tensor({4, 8}),
                 of_computed = b.Tensor({4, 8});
  const Value lines{Value::List{Value{int64_t{8}}}};
  b.Call("aten::layer_norm", {x}, {of_input}).args.push_back(lines);
  b.Call("aten::sin", {x}, {y});
  b.Call("aten::layer_norm", {y}, {of_computed}).args.push_back(lines);
  const Plan plan = b.Return(of_computed);
  std::vector<Probe> probes = InnerProbes(plan);
  ASSERT_EQ(probes.size(), 3u);
  EXPECT_TRUE(probes[0].of_result && probes[0].tensor == of_input) << "its argument moves anyway";
  EXPECT_TRUE(probes[1].of_result && probes[1].tensor == of_computed);
  EXPECT_TRUE(!probes[2].of_result && probes[2].tensor == y);
  for (Probe& probe : probes) {
    EXPECT_FALSE(MovesNearOne(probe));
    probe.seen = at::full({4, 8}, 1e-9, at::kDouble);
  }
  MoveInside(7, /*rounded_only=*/false, &probes);
  EXPECT_GT(probes[0].nudge.abs().max().item<double>(), 0x1p-25) << "what a bias has cancelled";
  EXPECT_LE(probes[0].nudge.abs().max().item<double>(), 0x1p-23);
}

TEST(InnerNoise, TermsOfASumMoveTogether) {
  Builder b;
  const TensorId x = b.Input({64, 400}), y = b.Tensor({64, 400});
  b.Call("aten::sin", {x}, {y});
  b.Call("aten::mean.dim", {y}, {b.Tensor({64})}).args.push_back(Value{Value::List{Value{int64_t{-1}}}});
  const Plan plan = b.Return(y);
  std::vector<Probe> probes = InnerProbes(plan, /*sums=*/true);
  ASSERT_EQ(probes.size(), 1u);
  probes[0].seen = at::full({64, 400}, 0.7, at::kDouble);
  MoveInside(7, /*rounded_only=*/false, &probes);
  const at::Tensor means = probes[0].nudge.mean(1) / 0.7, apart = probes[0].nudge.std(1) / 0.7;
  EXPECT_GT(means.abs().max().item<double>(), 0x1p-25)
      << "400 that move each by itself would move it by less";
  EXPECT_LE(means.abs().max().item<double>(), 0x1p-23);
  EXPECT_GT(apart.min().item<double>(), 0x1p-26);
}

}  // namespace
}  // namespace tritogen
