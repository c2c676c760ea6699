#include "train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "train/train_test_util.h"

namespace tritogen::train {
namespace {

class Optimizer : public testing::TestWithParam<bool> {
 protected:
  Optimizer() {
    FillStrongly(5, &weights_);
    gradients_.flat.copy_(at::sin(at::arange(gradients_.flat.numel(), at::kFloat)));
  }
  AdamW Make(int64_t from, int64_t count) const { return AdamW(weights_, from, count, options_, GetParam()); }
  AdamW Make() const { return Make(0, weights_.flat.numel()); }

  const ModelConfig config_ = SmallModel(ModelFamily::kQwen2, false);
  const AdamWOptions options_;
  FlatWeights weights_ = MakeFlatWeights(config_, at::kFloat, at::kCPU, 2);
  FlatWeights gradients_ = MakeFlatWeights(config_, at::kFloat, at::kCPU, 2);
};

// Three steps of the formula, in double, for a few elements.
TEST_P(Optimizer, StepsAsTheFormulaSays) {
  const at::Tensor before = weights_.flat.clone();
  AdamW adamw = Make();
  const double norm = std::sqrt(adamw.SquaredNorm(gradients_.flat).item<double>());
  EXPECT_NEAR(norm, gradients_.flat.to(at::kDouble).norm().item<double>(), 1e-4 * norm);
  const double rates[] = {0.01, 0.003, 0.02};
  for (const double rate : rates) adamw.Step(gradients_.flat, adamw.SquaredNorm(gradients_.flat), rate);
  for (const int64_t i : {int64_t{0}, int64_t{1}, weights_.decayed - 1, weights_.decayed + 3}) {
    double w = before[i].item<double>(), first = 0, second = 0;
    const double g = gradients_.flat[i].item<double>() * options_.clip / (norm + 1e-6);
    for (int step = 1; step <= 3; ++step) {
      if (i < weights_.decayed) w *= 1 - rates[step - 1] * options_.weight_decay;
      first = options_.beta1 * first + (1 - options_.beta1) * g;
      second = options_.beta2 * second + (1 - options_.beta2) * g * g;
      w -= rates[step - 1] * first / (1 - std::pow(options_.beta1, step)) /
           (std::sqrt(second / (1 - std::pow(options_.beta2, step))) + options_.epsilon);
    }
    EXPECT_NEAR(weights_.flat[i].item<double>(), w, 1e-6) << i;
  }
  EXPECT_EQ(adamw.state().steps, 3);
}

TEST_P(Optimizer, PartsAreTheWhole) {
  const at::Tensor before = weights_.flat.clone();
  const int64_t half = weights_.flat.numel() / 2;
  AdamW whole = Make();
  whole.Step(gradients_.flat, whole.SquaredNorm(gradients_.flat), 0.01);
  const at::Tensor expected = weights_.flat.clone();
  weights_.flat.copy_(before);
  AdamW parts[] = {Make(0, half), Make(half, half)};
  const at::Tensor squared = parts[0].SquaredNorm(gradients_.flat) + parts[1].SquaredNorm(gradients_.flat);
  for (AdamW& part : parts) part.Step(gradients_.flat, squared, 0.01);
  EXPECT_TRUE(at::allclose(weights_.flat, expected, 1e-6, 1e-7));
}

TEST_P(Optimizer, NothingChangesWhereTheNormIsNotFinite) {
  const at::Tensor before = weights_.flat.clone();
  AdamW adamw = Make();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    gradients_.flat[5].fill_(bad);
    adamw.Step(gradients_.flat, adamw.SquaredNorm(gradients_.flat), 0.01);
  }
  EXPECT_TRUE(at::equal(weights_.flat, before));
  EXPECT_EQ(adamw.state().first.count_nonzero().item<int64_t>(), 0);
}

TEST_P(Optimizer, GoesOnFromAState) {
  AdamW first = Make();
  const auto step = [&](AdamW& adamw) {
    adamw.Step(gradients_.flat, adamw.SquaredNorm(gradients_.flat), 0.01);
  };
  step(first);
  AdamWState kept = first.state();
  for (at::Tensor* tensor : {&kept.master, &kept.first, &kept.second}) *tensor = tensor->clone();
  step(first);
  const at::Tensor expected = weights_.flat.clone();
  weights_.flat.fill_(0.5);
  AdamW second = Make();
  second.Restore(kept);
  step(second);
  EXPECT_TRUE(at::equal(weights_.flat, expected));
}

// Small steps add up though each is less than a unit of the weights' dtype.
TEST_P(Optimizer, MasterWeightsAreWide) {
  FlatWeights narrow = MakeFlatWeights(config_, at::kBFloat16, at::kCPU);
  narrow.flat.fill_(1);
  AdamW adamw(narrow, 0, narrow.flat.numel(), {.weight_decay = 0}, GetParam());
  for (int i = 0; i < 10; ++i)
    adamw.Step(gradients_.flat.narrow(0, 0, narrow.flat.numel()), at::ones({}), 0.001);
  const at::Tensor up = gradients_.flat.narrow(0, 0, 64).lt(-0.1);
  EXPECT_NEAR(adamw.state().master.narrow(0, 0, 64).masked_select(up).mean().item<double>(), 1.01, 1e-3);
  EXPECT_TRUE(at::equal(narrow.flat, adamw.state().master.to(at::kBFloat16)));
}

INSTANTIATE_TEST_SUITE_P(, Optimizer, testing::Bool(),
                         [](const auto& info) { return info.param ? "Plain" : "Kernels"; });

TEST(OptimizerKernels, DoAsAten) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const ModelConfig config = SmallModel(ModelFamily::kQwen3, true);
    FlatWeights plain = MakeFlatWeights(config, type, at::kCPU),
                own = MakeFlatWeights(config, type, at::kCPU);
    FillStrongly(1, &plain);
    own.flat.copy_(plain.flat);
    const int64_t count = plain.flat.numel();
    AdamW by_aten(plain, 0, count, {}, true), by_kernels(own, 0, count, {}, false);
    const at::Tensor gradients = at::sin(at::arange(count, at::kFloat));
    for (const double rate : {0.01, 0.02}) {
      const at::Tensor expected = by_aten.SquaredNorm(gradients), got = by_kernels.SquaredNorm(gradients);
      EXPECT_NEAR(got.item<float>(), expected.item<float>(), 1e-5 * expected.item<float>());
      by_aten.Step(gradients, expected, rate);
      by_kernels.Step(gradients, expected, rate);
    }
    EXPECT_TRUE(at::allclose(by_kernels.state().master, by_aten.state().master, 1e-6, 1e-7));
    EXPECT_TRUE(at::allclose(by_kernels.state().first, by_aten.state().first, 1e-6, 1e-9));
    EXPECT_TRUE(at::allclose(by_kernels.state().second, by_aten.state().second, 1e-6, 1e-12));
    EXPECT_TRUE(at::equal(own.flat, by_kernels.state().master.to(type)));
  }
}

}  // namespace
}  // namespace tritogen::train
