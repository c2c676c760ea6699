// Against Hugging Face's tokenizers: ids of 10,000 texts and of every code point, decoded texts, trained
// merges.
#include <gtest/gtest.h>

#include "text/bpe_trainer.h"
#include "text/golden_texts.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

namespace tritogen {
namespace {

constexpr size_t kTexts = 10'000, kDecoded = 2'000, kTrainingTexts = 3'000;

class Golden : public testing::TestWithParam<const char*> {
 protected:
  Golden()
      : fragments_(golden::Fragments()),
        hashes_(golden::Hashes(GetParam())),
        tokenizer_(LoadTokenizer(golden::Path(std::string(GetParam()) + ".json"))) {}

  std::string Shown(const std::string& text, const std::vector<TokenId>& ids) {
    std::string out = nlohmann::json(text).dump(-1, ' ', true) + "\n";
    for (const TokenId id : ids) {
      out +=
          fmt::format("{}={} ", id, nlohmann::json(ReplaceMalformedUtf8(tokenizer_.TokenBytes(id))).dump());
    }
    return out;
  }

  std::vector<std::string> fragments_;
  std::vector<uint32_t> hashes_;
  Tokenizer tokenizer_;
};

TEST_P(Golden, TenThousandTextsHaveTheSameIds) {
  Encoder encoder(tokenizer_);
  size_t wrong = 0;
  for (size_t i = 0; i < kTexts; ++i) {
    const std::string text = golden::MakeText(fragments_, 1, i);
    const auto ids = encoder.Encode(text);
    if (golden::HashIds(ids) != hashes_[i] && ++wrong <= 3)
      ADD_FAILURE() << "text " << i << ": " << Shown(text, ids);
  }
  EXPECT_EQ(wrong, 0u);
}

TEST_P(Golden, DecodedTextsAreTheSame) {
  for (size_t i = 0; i < kDecoded; ++i) {
    const auto ids = golden::IdSequence(i, static_cast<uint64_t>(tokenizer_.id_end()));
    const std::string text = ReplaceMalformedUtf8(tokenizer_.Decode(ids, i & 1));
    // 0: an added token beyond ASCII, which the original decodes wrongly.
    if (const uint32_t expected = hashes_[kTexts + i]; expected != 0) {
      ASSERT_EQ(golden::Fnv(text), expected) << "ids " << i << ": " << Shown(text, ids);
    }
    StreamDecoder stream(tokenizer_, i & 1);
    std::string streamed;
    for (const TokenId id : ids) {
      const std::string part = stream.Add(id);
      EXPECT_TRUE(IsUtf8(part));
      streamed += part;
    }
    EXPECT_EQ(streamed + stream.Finish(), text);
  }
}

TEST_P(Golden, EveryCodePointIsSplitAlike) {
  size_t next = kTexts + kDecoded;
  if (next == hashes_.size()) GTEST_SKIP() << "kept for some tokenizers only";
  Encoder encoder(tokenizer_);
  size_t wrong = 0;
  std::vector<TokenId> blocks;  // hashes of 16 texts
  for (char32_t block = 0; block < 0x110000; block += 64) {
    if (block >= 0xd800 && block < 0xe000) continue;
    std::string text;
    for (char32_t c = block; c < block + 64; ++c) {
      text += 'x';
      AppendUtf8(c, &text);
      text += "1 ";
      AppendUtf8(c, &text);
      AppendUtf8(c, &text);
      text += "\u0301";
    }
    const auto ids = encoder.Encode(text, {.add_special_tokens = false});
    blocks.push_back(static_cast<TokenId>(golden::HashIds(ids)));
    if (blocks.size() < 16 && block + 64 < 0x110000) continue;
    if (golden::HashIds(blocks) != hashes_.at(next++) && ++wrong <= 3) {
      ADD_FAILURE() << fmt::format("within 1024 code points up to U+{:04X}",
                                   static_cast<uint32_t>(block) + 63);
    }
    blocks.clear();
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(next, hashes_.size());
}

// Everything but the model's vocabulary is taken from the file; the trainer must find that again.
TEST_P(Golden, TrainerFindsTheSameMerges) {
  const TokenizerFile expected =
      ParseTokenizerFile(ReadFile(golden::Path(std::string(GetParam()) + ".json")));
  BpeTrainerOptions options;
  options.vocabulary = expected.model.vocabulary.size();
  // Those of the trainer stand in the vocabulary, too; others were added behind it.
  for (const AddedToken& token : expected.added_tokens) {
    const auto known = std::pair(token.content, token.id);
    const auto& tokens = expected.model.vocabulary;
    if (std::find(tokens.begin(), tokens.end(), known) != tokens.end())
      options.special_tokens.push_back(token.content);
  }
  BpeTrainer trainer(expected, options);
  for (size_t i = 0; i < kTrainingTexts; ++i) trainer.Add(golden::MakeText(fragments_, 2, i));
  const TokenizerFile trained = trainer.Train();
  EXPECT_EQ(trained.model.merges, expected.model.merges);
  auto vocabulary = expected.model.vocabulary;
  std::sort(vocabulary.begin(), vocabulary.end(), [](auto& a, auto& b) { return a.second < b.second; });
  EXPECT_EQ(trained.model.vocabulary, vocabulary);
}

TEST_P(Golden, WrittenFileSaysTheSame) {
  const std::string text = ReadFile(golden::Path(std::string(GetParam()) + ".json"));
  EXPECT_EQ(ParseJson(WriteTokenizerFile(ParseTokenizerFile(text))), ParseJson(text));
}

INSTANTIATE_TEST_SUITE_P(Families, Golden, testing::Values("qwen3", "llama3", "gpt2", "policy", "odd"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tritogen
