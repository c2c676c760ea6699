#include "engine/sequence_output.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/utf8.h"
#include "text/golden_texts.h"

namespace tritogen {
namespace {

// Tokens of single bytes, and the one special token.
class Bytes : public testing::Test {
 protected:
  // Text and finish of a sequence whose tokens are these bytes; each chunk must be whole characters.
  Chunk Run(std::string_view bytes, const GenerateOptions& options, int32_t most = 1000) {
    SequenceOutput output(&options, &tokenizer_, 3, most);
    Chunk all;
    for (const char byte : bytes) {
      const bool ends = output.Add({.chosen = {Token(std::string(1, byte)), -1}});
      Add(output.Take(), &all);
      EXPECT_EQ(ends, all.finish.has_value());
      if (ends) return all;
    }
    output.End(FinishReason::kCancelled);
    Add(output.Take(), &all);
    return all;
  }
  static void Add(Chunk chunk, Chunk* all) {
    EXPECT_EQ(chunk.index, 3);
    EXPECT_TRUE(IsUtf8(chunk.text));
    EXPECT_FALSE(all->finish);
    all->text += chunk.text;
    all->finish = chunk.finish;
    all->samples.insert(all->samples.end(), chunk.samples.begin(), chunk.samples.end());
  }
  TokenId Token(const std::string& bytes) const { return tokenizer_.Find(bytes).value(); }

  Tokenizer tokenizer_ = LoadTokenizer(golden::Path("gpt2.json"));
};

TEST_F(Bytes, WholeCharactersOnly) {
  const Chunk whole = Run("a\xc3\xa9\xf0\x9f\x98\x80z", {});
  EXPECT_EQ(whole.text, "aé😀z");
  EXPECT_EQ(whole.finish, FinishReason::kCancelled);
  EXPECT_EQ(Run("a\xf0\x9f", {}, 3).text, "a\xef\xbf\xbd") << "a character that never came whole";
  EXPECT_EQ(Run("a\xf0\x9f", {}, 3).finish, FinishReason::kLength);
}

TEST_F(Bytes, StopStringsAcrossTokensAndCharacters) {
  const Chunk chunk = Run("say \xc3\xa9t\xc3\xa9 now", {.stop = {"été"}});
  EXPECT_EQ(chunk.text, "say ");
  EXPECT_EQ(chunk.finish, FinishReason::kStop);
  EXPECT_EQ(chunk.samples.size(), 9u) << "up to the token that ended it";
  EXPECT_EQ(Run("say \xc3\xa9t", {.stop = {"été"}}).text, "say ét") << "held back, and given back";
  EXPECT_EQ(Run("abcd", {.stop = {"d"}}, 4).finish, FinishReason::kStop) << "the last token allowed";
}

TEST_F(Bytes, StopTokensAreNotText) {
  const TokenId c = Token("c");
  const Chunk chunk = Run("abcd", {.stop_tokens = {c}});
  EXPECT_EQ(chunk.text, "ab");
  EXPECT_EQ(chunk.finish, FinishReason::kStop);
  EXPECT_EQ(chunk.samples.size(), 3u);
  EXPECT_EQ(chunk.samples.back().chosen.token, c);
}

TEST_F(Bytes, NanIsAnErrorAndNoToken) {
  const GenerateOptions options;
  SequenceOutput output(&options, &tokenizer_, 0, 10);
  EXPECT_FALSE(output.Add({.chosen = {Token("a"), -1}}));
  EXPECT_TRUE(output.Add({.chosen = {0, std::nanf("")}}));
  const Chunk chunk = output.Take();
  EXPECT_EQ(chunk.finish, FinishReason::kError);
  EXPECT_EQ(chunk.text, "a");
  EXPECT_EQ(chunk.samples.size(), 1u);
  EXPECT_NE(chunk.error, "");
}

TEST(SequenceOutput, WithoutATokenizerThereAreOnlyTokens) {
  const GenerateOptions options{.stop_tokens = {7, 9}};
  SequenceOutput output(&options, nullptr, 0, 10);
  EXPECT_FALSE(output.Add({.chosen = {5, -1}, .top = {{5, -1}, {6, -2}}}));
  EXPECT_TRUE(output.Add({.chosen = {9, -1}}));
  const Chunk chunk = output.Take();
  EXPECT_EQ(chunk.text, "");
  EXPECT_EQ(chunk.samples[0].top.size(), 2u);
}

}  // namespace
}  // namespace tritogen
