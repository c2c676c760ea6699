// A folder made for data can be loaded, and reads that data in few tokens.
#include "train/new_policy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/temp_dir.h"
#include "model/model_folder.h"
#include "train/corpus_test_util.h"

namespace tritogen::train {
namespace {

namespace fs = std::filesystem;

const PolicyOptions kSmall{.vocabulary = 320,
                           .context = 512,
                           .hidden = 32,
                           .layers = 2,
                           .heads = 2,
                           .kv_heads = 1,
                           .head_dim = 16,
                           .intermediate = 48};

class PolicyTest : public testing::Test {
 protected:
  PolicyTest() {
    std::vector<data::Record> records;
    for (int64_t draw = 0; draw < 20; ++draw) records.push_back(SmallRecord(draw));
    WriteShard(set_, 0, records);
  }
  TempDir temp_;
  fs::path set_ = temp_.path() / "set", folder_ = temp_.path() / "model";
};

std::vector<std::string> Pieces(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<std::string> pieces;
  for (const TokenId id : Encoder(tokenizer).Encode(text)) pieces.emplace_back(tokenizer.TokenBytes(id));
  return pieces;
}

TEST_F(PolicyTest, TheFolderLoadsAndReadsItsData) {
  ASSERT_TRUE(MakePolicy(folder_, kSmall, {.data = {set_.string()}}));
  const ChatFormat format = LoadChatFormat(folder_);
  ASSERT_EQ(format.ends.size(), 1u);
  EXPECT_EQ(format.tokenizer.TokenBytes(format.ends[0]), "<|end|>");
  const DecoderWeights weights = LoadDecoder(folder_, at::kFloat, at::kCPU);
  EXPECT_EQ(weights.config.vocabulary, 320);
  EXPECT_LE(format.tokenizer.id_end(), 320);
  EXPECT_EQ(weights.config.max_positions, 512);
  EXPECT_TRUE(weights.config.qk_norm && weights.config.tied_embeddings);
  // What adds to the residual stream begins smaller: by the square root of twice the layers.
  const auto spread = [](const at::Tensor& tensor) { return tensor.square().mean().sqrt().item<double>(); };
  EXPECT_NEAR(spread(weights.layers[0].qkv), 0.02, 0.002);
  EXPECT_NEAR(spread(weights.layers[1].down), 0.01, 0.001);
  EXPECT_NEAR(spread(weights.layers[1].attention_out), 0.01, 0.002);
  const auto read = ReadCorpus({.data = {set_.string()}}, format, 512);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->corpus.size(), 20);
  EXPECT_THROW(MakePolicy(folder_, kSmall, {.data = {set_.string()}}), UserError);
}

TEST_F(PolicyTest, TheSameDataGivesTheSameFolder) {
  MakePolicy(folder_, kSmall, {.data = {set_.string()}});
  MakePolicy(temp_.path() / "again", kSmall, {.data = {set_.string()}});
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "model.safetensors", "config.json"})
    EXPECT_EQ(ReadFile(folder_ / name), ReadFile(temp_.path() / "again" / name)) << name;
}

TEST_F(PolicyTest, NamesAreCutAlikeWhereverTheyStandAndDigitsSingly) {
  BpeTrainer trainer(PolicySkeleton(), {.vocabulary = 400});
  const std::string code = "def relu_kernel(x):\n    relu = 1024\n    return relu, (relu), -relu\n";
  for (int i = 0; i < 10; ++i) trainer.Add(code);
  const Tokenizer tokenizer(trainer.Train());
  EXPECT_EQ(Pieces(tokenizer, code),
            (std::vector<std::string>{"def", " relu", "_kernel", "(", "x",      "):\n    ", "relu",  " = ",
                                      "1",   "0",     "2",       "4", "\n    ", "return",   " relu", ", ",
                                      "(",   "relu",  "), ",     "-", "relu",   "\n"}));
}

TEST_F(PolicyTest, SizesThatDoNotFitAreRefused) {
  PolicyOptions odd = kSmall;
  odd.heads = 3, odd.kv_heads = 2;
  EXPECT_THROW(MakePolicy(folder_, odd, {.data = {set_.string()}}), UserError);
  EXPECT_FALSE(fs::exists(folder_));
  odd = kSmall;
  odd.vocabulary = 100;
  EXPECT_THROW(MakePolicy(folder_, odd, {.data = {set_.string()}}), UserError);
  ReadHooks hooks{.stop = [] { return true; }};
  EXPECT_FALSE(MakePolicy(folder_, kSmall, {.data = {set_.string()}}, hooks));
  EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace
}  // namespace tritogen::train
