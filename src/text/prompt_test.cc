#include "text/prompt.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "program/parse.h"

namespace tritogen {
namespace {

const PromptTask kTask{.source = "import torch\n\n\nclass Model(torch.nn.Module):\n    pass\n",
                       .program = "import torch\n\n\ndef program(x):\n    return x  # float32[4]\n"};

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(FillTemplate, ValuesAndSections) {
  const PromptValues values{{"a", "1"}, {"none", ""}};
  EXPECT_EQ(FillTemplate("x {{a}} y{{none}}", values), "x 1 y");
  EXPECT_EQ(FillTemplate("{{#a}}<{{a}}>{{/a}}{{#none}}no{{/none}}{{^none}}yes{{/none}}", values), "<1>yes");
  EXPECT_EQ(FillTemplate("{{#none}}{{#a}}no{{/a}}{{/none}}.", values), ".");
}

TEST(FillTemplate, AValueIsNeverATemplate) {
  EXPECT_EQ(FillTemplate("{{a}}", {{"a", "{{b}} {{#c}} }}"}}), "{{b}} {{#c}} }}");
}

TEST(FillTemplate, BrokenTemplatesSaySo) {
  for (const char* text :
       {"{{b}}", "{{a", "{{#a}}", "{{/a}}", "{{#a}}{{/b}}", "{{}}", "{{#none}}{{b}}{{/none}}"})
    EXPECT_THROW(FillTemplate(text, {{"a", "1"}, {"none", ""}}), UserError) << text;
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{{#a}}";
  EXPECT_THROW(FillTemplate(deep, {{"a", "1"}}), UserError);
}

TEST(ParsePrompt, ReadsSettingsAndSections) {
  const PromptTemplate prompt = ParsePrompt(
      "mine", "# why\nanswer: tag code\nbody: both\n--- system\nBe good.\n--- user\nDo\n\nit.\n\n");
  EXPECT_EQ(prompt.name, "mine");
  EXPECT_EQ(prompt.answer, AnswerForm::kTag);
  EXPECT_EQ(prompt.tag, "code");
  EXPECT_EQ(prompt.body, PromptBody::kBoth);
  EXPECT_EQ(prompt.system, "Be good.");
  EXPECT_EQ(prompt.user, "Do\n\nit.");
}

TEST(ParsePrompt, SaysWhichLineIsWrong) {
  for (const char* text :
       {"answer: class\ncolour: red\n--- user\nx", "answer: classes\n--- user\nx", "--- user\nx",
        "answer: class\n", "answer: class\n--- user\n", "answer: tag \n--- user\nx"})
    EXPECT_THROW(ParsePrompt("mine", text), UserError) << text;
  try {
    ParsePrompt("mine", "answer: class\n\ncolour: red\n--- user\nx");
  } catch (const UserError& error) {
    EXPECT_TRUE(Has(error.what(), "mine:3")) << error.what();
  }
}

TEST(Prompts, EachBuiltInOneCanBeFilledAndHoldsTheTask) {
  ASSERT_GE(PromptNames().size(), 11u);
  for (const std::string& name : PromptNames()) {
    if (name == "repair") continue;  // about an answer to a task that was told before
    const PromptTemplate& prompt = FindPrompt(name);
    for (bool strict : {false, true}) {
      PromptTask task = kTask;
      task.strict = strict;
      PromptValues values = ValuesOf(prompt, task, prompt.body);
      values["code"] = "the code";
      values["instruction"] = "the instruction";
      const std::string user = FillTemplate(prompt.user, values);
      EXPECT_TRUE(Has(
          user, prompt.body == PromptBody::kProgram ? "(x):\n    return x  # float32[4]" : "class Model("))
          << name;
      EXPECT_FALSE(Has(user, "{{") || Has(user, "}}")) << user;
      FillTemplate(prompt.system, values);
    }
  }
  EXPECT_THROW(FindPrompt("nobody"), UserError);
}

TEST(Prompts, StrictModeIsAsked) {
  for (const char* name : {"kernelbench", "autotriton", "autotriton_distil", "tritonrl", "embedded"}) {
    const PromptTemplate& prompt = FindPrompt(name);
    PromptTask strict = kTask;
    strict.strict = true;
    EXPECT_NE(FillTemplate(prompt.user, ValuesOf(prompt, kTask, prompt.body)),
              FillTemplate(prompt.user, ValuesOf(prompt, strict, prompt.body)))
        << name;
  }
}

TEST(Prompts, FormsOfThePapers) {
  EXPECT_EQ(FindPrompt("drtriton").tag, "triton_code");
  EXPECT_EQ(AnswerEntry(FindPrompt("drtriton"), kTask), "triton_fused_operator");
  EXPECT_EQ(AnswerEntry(FindPrompt("kernelbench"), kTask), "ModelNew");
  EXPECT_EQ(AnswerEntry(FindPrompt("autotriton_tritonbench"), kTask), "wrapper");
  EXPECT_TRUE(
      Has(ValuesOf(FindPrompt("drtriton"), kTask, PromptBody::kProgram)["body"], "def fused_operator(x)"));
  EXPECT_TRUE(Has(FindPrompt("tritonrl").user, "<think>"));
  EXPECT_TRUE(Has(FindPrompt("autotriton_distil").user, "libdevice"));
  EXPECT_FALSE(Has(FindPrompt("autotriton").user, "add_kernel"));  // no worked example
  EXPECT_TRUE(Has(FindPrompt("kernelbench").user, "add_kernel"));
}

TEST(ValuesOf, BodyIsTheFileTheProgramOrBoth) {
  const PromptTemplate& prompt = FindPrompt("kernelbench");
  const std::string both = ValuesOf(prompt, kTask, PromptBody::kBoth)["body"];
  EXPECT_TRUE(Has(both, "class Model(") && Has(both, "#     return x  # float32[4]")) << both;
  EXPECT_FALSE(Has(ValuesOf(prompt, kTask, PromptBody::kSource)["body"], "float32[4]"));
  EXPECT_FALSE(Has(ValuesOf(prompt, kTask, PromptBody::kProgram)["body"], "class Model("));
  PromptTask without = kTask;
  without.program.clear();
  EXPECT_TRUE(Has(ValuesOf(prompt, without, PromptBody::kProgram)["body"], "class Model("));
}

TEST(ValuesOf, AFunctionGetsAClassWhereAClassIsAsked) {
  const PromptTask task{
      .source = "import torch\n\n\ndef gate(x):\n    return x\n", .entry = "gate", .is_function = true};
  PromptValues values = ValuesOf(FindPrompt("autotriton"), task, PromptBody::kSource);
  EXPECT_TRUE(Has(values["body"], "class Model(") && Has(values["body"], "return gate(*inputs)"));
  EXPECT_EQ(values["entry"], "Model");
  values = ValuesOf(FindPrompt("autotriton_tritonbench"), task, PromptBody::kSource);
  EXPECT_FALSE(Has(values["body"], "class Model("));
  EXPECT_EQ(values["function"], "gate");
}

TEST(Policy, IsAskedInFewWordsWithAllThatDecides) {
  const Program program = ParseProgram(
      "def program(x, weight):\n    # x: bfloat16[4, 8]\n    # weight: int64[4], parameter \"up.weight\"\n"
      "    a = torch.relu(x)\n    return a\n");
  const PromptTemplate& prompt = FindPrompt("embedded");
  for (bool strict : {false, true}) {
    const auto messages = MessagesOf(prompt, ValuesOf(prompt, PolicyTask(program, strict), prompt.body));
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].role, "user");
    std::string expected = strict ? "cuda, bfloat16, strict" : "cuda, bfloat16, hybrid";
    expected += R"(
import torch


def program(x0, x1):
    # x0: bfloat16[4, 8]
    # x1: int64[4]
    a = torch.relu(x0)  # bfloat16[4, 8]
    return a)";
    EXPECT_EQ(messages[0].content, expected);
  }
}

TEST(Policy, NeedNotCountFromTheEnd) {
  const Program program = ParseProgram(
      "def program(x):\n    # x: float32[4, 8]\n    a = torch.select(x, -1, -2)\n    b = x[:, -3:]\n    "
      "return a, b\n");
  const std::string text = PolicyTask(program, true).program;
  EXPECT_TRUE(Has(text, "torch.select(x0, dim=1, index=6)") && Has(text, "x0[:, 5:]")) << text;
}

TEST(Repair, SaysOutcomeRuleAndReason) {
  EXPECT_EQ(RepairText("wrong_values", "", "output 1 is wrong {{rule}}\n"),
            "wrong_values: output 1 is wrong {{rule}}");
  EXPECT_EQ(RepairText("no_answer", "no_code", ""), "no_answer (no_code)");
  EXPECT_LT(RepairText("compile_error", "", std::string(100000, 'x')).size(), 1100u);
}

}  // namespace
}  // namespace tritogen
