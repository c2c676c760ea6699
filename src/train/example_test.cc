// An example is what the model is asked and the answer it is to give, token for token; loss begins where it
// should.
#include "train/example.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "text/answer.h"
#include "train/corpus_test_util.h"

namespace tritogen::train {
namespace {

const std::string kPlan = "1. Access pattern: 8 elements.\n2. Launch: one.",
                  kCode = "import triton\nclass ModelNew:\n    n = 8\n";

jinja::Value Talk(const std::string& answer) {
  return ToJson({{"system", "Be brief."}, {"user", "relu"}, {"assistant", answer}});
}

std::string Text(const ChatFormat& format, const std::vector<int32_t>& tokens, size_t begin, size_t end) {
  return format.tokenizer.Decode(std::span(tokens).subspan(begin, end - begin));
}

TEST(ExampleMaker, PromptPlanAndCode) {
  const ChatFormat format = SmallFormat();
  const std::string answer = FormatAnswer("", kPlan, kCode);
  const auto example = ExampleMaker(format, 1000).Make(Talk(answer));
  ASSERT_TRUE(example);
  const auto& tokens = example->tokens;
  EXPECT_EQ(Text(format, tokens, 0, example->plan), "<|system|>Be brief.<|user|>relu<|assistant|>");
  EXPECT_EQ(Text(format, tokens, example->plan, example->code), kPlan + "\n\n");
  EXPECT_EQ(Text(format, tokens, example->code, tokens.size()), "```python\n" + kCode + "```<|end|>");
  EXPECT_EQ(tokens.back(), format.ends[0]);
  // The prompt's tokens are those that generation begins with.
  auto asked = Talk(answer);
  asked.erase(2);
  EXPECT_EQ(
      std::vector<int32_t>(tokens.begin(), tokens.begin() + example->plan),
      Encoder(format.tokenizer).Encode(format.chat_template.Render(asked), {.add_special_tokens = false}));
}

TEST(ExampleMaker, OnlyTheLastAnswerIsLearned) {
  const ChatFormat format = SmallFormat();
  const auto example = ExampleMaker(format, 1000)
                           .Make(ToJson({{"user", "relu"},
                                         {"assistant", FormatAnswer("", "", kCode)},
                                         {"user", "wrong_values: no"},
                                         {"assistant", FormatAnswer("", kPlan, kCode)}}));
  ASSERT_TRUE(example);
  const std::string asked = Text(format, example->tokens, 0, example->plan);
  EXPECT_TRUE(asked.ends_with("```<|end|><|user|>wrong_values: no<|assistant|>")) << asked;
  EXPECT_EQ(Text(format, example->tokens, example->plan, example->code), kPlan + "\n\n");
}

TEST(ExampleMaker, WhatFollowsTheEndIsNotLearnedAndAMissingEndIsAdded) {
  const std::string chatml =
      "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}END\n{% endfor %}"
      "{% if add_generation_prompt %}<|assistant|>{% endif %}";
  const ChatFormat without = SmallFormat(chatml);
  auto example = ExampleMaker(without, 1000).Make(Talk("yes"));
  ASSERT_TRUE(example);
  EXPECT_EQ(Text(without, example->tokens, example->plan, example->tokens.size()), "yesEND\n<|end|>");
  EXPECT_EQ(example->code, static_cast<int32_t>(example->tokens.size()));  // no code
  std::string with_end = chatml;
  with_end.replace(with_end.find("END"), 3, "<|end|>");
  const ChatFormat with = SmallFormat(with_end);
  example = ExampleMaker(with, 1000).Make(Talk("yes"));
  ASSERT_TRUE(example);
  EXPECT_EQ(Text(with, example->tokens, example->plan, example->tokens.size()), "yes<|end|>");
}

TEST(ExampleMaker, AnswersWithoutAPlanAndThoughtsOfTemplates) {
  const ChatFormat format = SmallFormat();
  auto example = ExampleMaker(format, 1000).Make(Talk(FormatAnswer("", "", kCode)));
  ASSERT_TRUE(example);
  EXPECT_EQ(example->plan, example->code);
  example = ExampleMaker(format, 1000).Make(Talk(FormatAnswer("hm\n```\nno\n```", kPlan, kCode)));
  ASSERT_TRUE(example);
  EXPECT_TRUE(Text(format, example->tokens, example->code, example->tokens.size())
                  .starts_with("```python\nimport triton"));
}

TEST(ExampleMaker, WhatIsTooLongIsNothing) {
  const ChatFormat format = SmallFormat();
  const auto size = static_cast<int64_t>(ExampleMaker(format, 1000).Make(Talk("yes"))->tokens.size());
  EXPECT_TRUE(ExampleMaker(format, size).Make(Talk("yes")));
  EXPECT_FALSE(ExampleMaker(format, size - 1).Make(Talk("yes")));
}

TEST(ExampleMaker, ConversationsThatCannotBeLearnedSaySo) {
  const ChatFormat format = SmallFormat();
  ExampleMaker maker(format, 1000);
  for (const char* bad :
       {"[]", "{}", "null", "3", R"([{"role": "user", "content": "x"}])",
        R"([{"role": "assistant", "content": "x"}, {"role": "user", "content": "x"}])",
        R"([{"role": "user"}, {"role": "assistant", "content": "x"}])", R"(["user", "assistant"])",
        R"([{"role": "tool", "content": "x"}, {"role": "assistant", "content": "x"}])"})
    EXPECT_THROW(maker.Make(jinja::Value::parse(bad)), FormatError) << bad;
  const ChatFormat changing =
      SmallFormat("{{ messages|length }}{% for m in messages %}{{ m['content'] }}{% endfor %}");
  EXPECT_THROW(ExampleMaker(changing, 1000).Make(Talk("yes")), FormatError);
}

}  // namespace
}  // namespace tritogen::train
