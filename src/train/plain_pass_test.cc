#include <gtest/gtest.h>

#include "train/flops.h"
#include "train/train_test_util.h"

namespace tritogen::train {
namespace {

TEST(FlatWeights, HoldEachTensorOnceMatricesFirst) {
  for (const bool tied : {true, false}) {
    const ModelConfig config = SmallModel(ModelFamily::kQwen2, tied);
    FlatWeights flat = MakeFlatWeights(config, at::kBFloat16, at::kCPU, 7);
    EXPECT_EQ(flat.flat.numel() % (7 * kFlatAlignment), 0);
    EXPECT_TRUE(flat.flat.eq(0).all().item<bool>());
    int64_t elements = 0;
    for (auto& [name, tensor] : flat.weights.Named()) {
      elements += tensor.numel();
      tensor.fill_(1);
      if (!name.ends_with("_proj.bias")) {
        EXPECT_EQ(tensor.storage_offset() % kFlatAlignment, 0) << name;
      }
      EXPECT_EQ(tensor.storage_offset() < flat.decayed, tensor.dim() == 2) << name;
    }
    EXPECT_EQ(flat.flat.count_nonzero().item<int64_t>(), elements);  // none overlaps another
    EXPECT_EQ(flat.weights.output.is_same(flat.weights.embedding), tied);

    DecoderWeights own = MakeWeights(config, at::kBFloat16, at::kCPU);
    FillWeights(3, &own);
    FillWeights(3, &flat.weights);
    const auto named = flat.weights.Named();
    for (const auto& [name, tensor] : own.Named()) EXPECT_TRUE(at::equal(tensor, named.at(name))) << name;
  }
}

TEST(Flops, OfASmallModel) {
  ModelConfig c = SmallModel(ModelFamily::kQwen3, true);
  const double layer = 48 * 256 + 128 * 48 + 3 * 48 * 64;  // qkv, out, mlp
  const StepFlops flops = TrainingFlops(c, {.tokens = 10, .learned = 4, .squared_lengths = 52});
  EXPECT_DOUBLE_EQ(flops.model(), 6 * (2 * layer * 10 + 48 * 83 * 4) + 12 * 2 * 128 * 52);
  EXPECT_DOUBLE_EQ(flops.model() - flops.causal(), 6 * 2 * 128 * 52);
}

struct Case {
  ModelFamily family;
  bool tied;
};

class PlainPass : public testing::TestWithParam<Case> {
 protected:
  PlainPass() { FillStrongly(5, &weights_); }
  const ModelConfig config_ = SmallModel(GetParam().family, GetParam().tied);
  FlatWeights weights_ = MakeFlatWeights(config_, at::kFloat, at::kCPU);
  FlatWeights gradients_ = MakeFlatWeights(config_, at::kFloat, at::kCPU);
  const std::unique_ptr<TrainingPass> pass_ = MakePlainPass(weights_, gradients_, {});
};

// The loss along a random direction, against the gradient.
TEST_P(PlainPass, GradientsAreTheSlopeOfTheLoss) {
  const DeviceBatch batch = RandomBatch(1, {9, 1, 17, 5, 0, 0}, config_.vocabulary, true);
  const double loss = pass_->LossAndGradients(batch, 0.5, /*add=*/true).item<double>();
  EXPECT_EQ(pass_->Loss(batch).item<double>(), loss);
  const at::Tensor at = weights_.flat.clone();
  const at::Tensor direction = gradients_.flat / gradients_.flat.norm();
  const auto loss_at = [&](double step) {
    weights_.flat.copy_(at + step * direction);
    return pass_->Loss(batch).item<double>();
  };
  const double slope = (loss_at(0.004) - loss_at(-0.004)) / 0.008;
  EXPECT_NEAR(slope, 2 * gradients_.flat.norm().item<double>(), 2e-3 * slope);
  for (const auto& [name, tensor] : gradients_.weights.Named()) {
    EXPECT_GT(tensor.norm().item<double>(), 0) << name;
  }
}

TEST_P(PlainPass, DocumentsAddUp) {
  const std::vector<int64_t> lengths = {9, 12, 3};
  const DeviceBatch all = RandomBatch(2, lengths, config_.vocabulary, false);
  const double loss = pass_->LossAndGradients(all, 1, /*add=*/true).item<double>();
  const at::Tensor together = gradients_.flat.clone();
  gradients_.flat.fill_(3);  // which the first document writes over
  double sum = 0;
  int64_t from = 0;
  for (const int64_t n : lengths) {
    const auto part = [&](const at::Tensor& t) { return t.narrow(0, from, n); };
    sum += pass_
               ->LossAndGradients({part(all.tokens), part(all.targets), part(all.positions),
                                   part(all.weights), at::tensor({int64_t{0}, n}).to(at::kInt)},
                                  1, /*add=*/from > 0)
               .item<double>();
    from += n;
  }
  EXPECT_NEAR(sum, loss, 1e-4);
  for (const auto& [name, tensor] : gradients_.weights.Named()) {
    const at::Tensor expected = together.narrow(0, tensor.storage_offset(), tensor.numel()).view_as(tensor);
    EXPECT_TRUE(at::allclose(expected, tensor, 1e-5, 1e-6)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, PlainPass,
                         testing::Values(Case{ModelFamily::kQwen3, true}, Case{ModelFamily::kQwen2, false},
                                         Case{ModelFamily::kLlama, true}));

}  // namespace
}  // namespace tritogen::train
