// The fused pass, its kernels run by the tile machine, against the plain one.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "train/train_test_util.h"

namespace tritogen::train {
namespace {

struct Setting {
  ModelFamily family = ModelFamily::kQwen3;
  bool tied = true, checkpointing = false;
  at::ScalarType dtype = at::kFloat;
  int64_t logit_tokens = 0;
};

struct Both {
  explicit Both(const ModelConfig& config, const Setting& setting, const DeviceBatch& batch, double scale)
      : weights(MakeFlatWeights(config, setting.dtype, at::kCPU)),
        plain(MakeFlatWeights(config, at::kFloat, at::kCPU)),
        fused(MakeFlatWeights(config, at::kFloat, at::kCPU)) {
    FillStrongly(3, &weights);
    plain.flat.fill_(0.125), fused.flat.fill_(0.125);  // what is there stays
    const PassShape shape{batch.tokens.numel(), batch.starts.numel() - 1, 150, setting.checkpointing,
                          setting.logit_tokens};
    const auto plain_pass = MakePlainPass(weights, plain, shape);
    plain_loss = plain_pass->LossAndGradients(batch, scale, /*add=*/true).item<double>();
    const auto fused_pass = MakeFusedPass(weights, fused, shape);
    fused_loss = fused_pass->LossAndGradients(batch, scale, /*add=*/true).item<double>();
    EXPECT_EQ(fused_pass->Loss(batch).item<double>(), fused_loss);
    const at::Tensor once = fused.flat.clone();
    fused.flat.fill_(0.125);
    EXPECT_EQ(fused_pass->LossAndGradients(batch, scale, /*add=*/true).item<double>(), fused_loss);
    EXPECT_TRUE(at::equal(once, fused.flat)) << "not the same twice";
    ExpectWritten(fused_pass.get(), batch, scale);
  }
  // Instead of added to what is there, which may be anything.
  void ExpectWritten(TrainingPass* pass, const DeviceBatch& batch, double scale) {
    const at::Tensor added = fused.flat.clone();
    fused.flat.fill_(NAN);
    EXPECT_EQ(pass->LossAndGradients(batch, scale, /*add=*/false).item<double>(), fused_loss);
    for (const auto& [name, tensor] : fused.weights.Named()) {
      const at::Tensor before = added.narrow(0, tensor.storage_offset(), tensor.numel()).view_as(tensor);
      EXPECT_TRUE(at::allclose(tensor + 0.125, before, 1e-6, 1e-6)) << name;
    }
    fused.flat.copy_(added);
  }
  // The largest error of a tensor, of its largest element.
  void ExpectClose(double bound) const {
    EXPECT_NEAR(fused_loss, plain_loss, bound * std::abs(plain_loss));
    const auto named = plain.weights.Named();
    for (const auto& [name, tensor] : fused.weights.Named()) {
      const at::Tensor expected = named.at(name) - 0.125;
      EXPECT_GT(expected.norm().item<double>(), 0) << name;
      const double error = (tensor - named.at(name)).norm().item<double>() / expected.norm().item<double>();
      EXPECT_LE(error, bound) << name;
    }
  }
  FlatWeights weights, plain, fused;
  double plain_loss = 0, fused_loss = 0;
};

const std::vector<int64_t> kLengths = {37, 1, 71, 5, 29, 0, 0};

TEST(FusedPass, GradientsAreThoseOfAutograd) {
  const Setting settings[] = {
      {ModelFamily::kQwen3, true},
      {ModelFamily::kQwen3, false, true, at::kFloat, 48},
      {ModelFamily::kQwen2, false},
      {ModelFamily::kLlama, true, true},
  };
  for (const Setting& setting : settings) {
    const ModelConfig config = SmallModel(setting.family, setting.tied);
    SCOPED_TRACE(ModelTypeName(setting.family));
    Both(config, setting, RandomBatch(4, kLengths, config.vocabulary, true), 0.5).ExpectClose(2e-5);
  }
}

// Biases everywhere, a key head for each query head, another head size, a vocabulary of more than one tile of
// logits.
TEST(FusedPass, OtherShapes) {
  ModelConfig config = SmallModel(ModelFamily::kLlama, false);
  config.qkv_bias = config.output_bias = config.mlp_bias = true;
  config.heads = config.kv_heads = 2, config.head_dim = 64, config.vocabulary = 2111, config.layers = 1;
  Both(config, {}, RandomBatch(5, {90, 33}, config.vocabulary, false), 1).ExpectClose(2e-5);
  config.heads = 3, config.kv_heads = 1, config.head_dim = 128, config.qk_norm = true;
  Both(config, {}, RandomBatch(5, {40, 3}, config.vocabulary, false), 1).ExpectClose(2e-5);
  // Logits that are walked in other tiles, of which there are two.
  config.vocabulary = 33001, config.output_bias = false;
  Both(config, {}, RandomBatch(5, {9, 3}, config.vocabulary, false), 1).ExpectClose(2e-5);
}

// Both round; what they differ by is as much as either differs from float32.
TEST(FusedPass, BFloat16) {
  for (const bool checkpointing : {false, true}) {
    const Setting setting{ModelFamily::kQwen3, true, checkpointing, at::kBFloat16};
    const ModelConfig config = SmallModel(setting.family, setting.tied);
    Both(config, setting, RandomBatch(6, {150, 43, 64, 1, 0}, config.vocabulary, false), 1).ExpectClose(0.03);
  }
}

// Logits of all tokens, then, the others' among them.
TEST(FusedPass, NearlyAllToLearn) {
  for (const int64_t logit_tokens : {0, 48}) {
    const ModelConfig config = SmallModel(ModelFamily::kQwen3, true);
    DeviceBatch batch = RandomBatch(9, {70, 58, 0}, config.vocabulary, false);
    batch.targets.copy_(batch.tokens.roll(-1));
    batch.weights.fill_(0.5);
    batch.weights.slice(0, 69, 128, 58).zero_();  // the documents' last ones
    batch.targets[127] = -1;
    batch.learned = batch.weights.nonzero().squeeze(1);
    ASSERT_EQ(batch.learned.numel(), 126);
    const Setting setting{.family = ModelFamily::kQwen3, .logit_tokens = logit_tokens};
    Both(config, setting, batch, 1).ExpectClose(2e-5);
  }
}

// A batch without a loss: gradients are written all the same.
TEST(FusedPass, NothingToLearn) {
  for (const bool tied : {true, false}) {
    const ModelConfig config = SmallModel(ModelFamily::kQwen2, tied);
    const FlatWeights weights = MakeFlatWeights(config, at::kFloat, at::kCPU);
    const FlatWeights gradients = MakeFlatWeights(config, at::kFloat, at::kCPU);
    DeviceBatch batch = RandomBatch(4, {20, 12}, config.vocabulary, false);
    batch.weights.zero_();
    batch.learned = batch.learned.narrow(0, 0, 0);
    gradients.flat.fill_(3);
    const auto pass = MakeFusedPass(weights, gradients, {32, 2, 32});
    EXPECT_EQ(pass->LossAndGradients(batch, 1, /*add=*/false).item<double>(), 0);
    for (const auto& [name, tensor] : gradients.weights.Named())
      EXPECT_EQ(tensor.count_nonzero().item<int64_t>(), 0) << name;
  }
}

// An id in more places than one look shows, and than its neighbours.
TEST(FusedPass, OneTokenOften) {
  const ModelConfig config = SmallModel(ModelFamily::kQwen2, false);
  DeviceBatch batch = RandomBatch(8, {100, 60}, config.vocabulary, false);
  batch.tokens.narrow(0, 30, 75).fill_(17);
  batch.tokens.narrow(0, 120, 32).fill_(82);
  Both(config, {.family = ModelFamily::kQwen2, .tied = false}, batch, 1).ExpectClose(2e-5);
}

TEST(FusedPass, RefusesWhatItsKernelsHaveNot) {
  const auto refuses = [](const ModelConfig& config, at::ScalarType dtype = at::kFloat) {
    const FlatWeights weights = MakeFlatWeights(config, dtype, at::kCPU);
    const FlatWeights gradients = MakeFlatWeights(config, at::kFloat, at::kCPU);
    EXPECT_THROW(MakeFusedPass(weights, gradients, {64, 1, 64}), UserError);
  };
  ModelConfig config = SmallModel(ModelFamily::kQwen3, true);
  refuses(config, at::kHalf);
  config.head_dim = 48;
  refuses(config);
  config.head_dim = 32, config.hidden = 40;
  refuses(config);
  config.hidden = 48, config.intermediate = 40;
  refuses(config);
}

}  // namespace
}  // namespace tritogen::train
