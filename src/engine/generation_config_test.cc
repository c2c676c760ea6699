#include "engine/generation_config.h"

#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/temp_dir.h"

namespace tritogen {
namespace {

TEST(GenerationConfig, ReadsWhatTransformersWrites) {
  const GenerateOptions options = ParseGenerationConfig(R"({
    "bos_token_id": 151643, "do_sample": true, "eos_token_id": [151645, 151643], "pad_token_id": 151643,
    "repetition_penalty": 1.05, "temperature": 0.7, "top_p": 0.8, "top_k": 20, "min_p": null,
    "transformers_version": "4.51.0"})");
  EXPECT_EQ(options.stop_tokens, (std::vector<TokenId>{151645, 151643}));
  EXPECT_FLOAT_EQ(options.sampling.temperature, 0.7f);
  EXPECT_FLOAT_EQ(options.sampling.top_p, 0.8f);
  EXPECT_EQ(options.sampling.top_k, 20);
  EXPECT_EQ(options.sampling.min_p, 0);
  EXPECT_FLOAT_EQ(options.sampling.repetition_penalty, 1.05f);
  EXPECT_EQ(ParseGenerationConfig(R"({"eos_token_id": 2})").stop_tokens, std::vector<TokenId>{2});
  EXPECT_EQ(ParseGenerationConfig("{}").sampling.temperature, 1);
}

TEST(GenerationConfig, RefusesWhatCannotBe) {
  for (const char* text :
       {"[]", "nonsense", R"({"temperature": -1})", R"({"temperature": "hot"})", R"({"top_p": 0})",
        R"({"top_p": 1.5})", R"({"top_k": 1.5})", R"({"top_k": -3})", R"({"eos_token_id": "end"})",
        R"({"eos_token_id": [1, -1]})", R"({"eos_token_id": 99999999999})", R"({"repetition_penalty": 0})"})
    EXPECT_THROW(ParseGenerationConfig(text), FormatError) << text;
}

TEST(GenerationConfig, IsLookedForInTheFolder) {
  const TempDir folder;
  EXPECT_TRUE(LoadGenerationConfig(folder.path()).stop_tokens.empty());
  WriteFileAtomic(folder.path() / "generation_config.json", R"({"eos_token_id": "end"})");
  try {
    LoadGenerationConfig(folder.path());
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("generation_config.json: eos_token_id"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tritogen
