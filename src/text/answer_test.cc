#include "text/answer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

namespace tritogen {
namespace {

const std::string kCode =
    "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x):\n    pass\n\n\n"
    "class ModelNew(torch.nn.Module):\n    pass\n";

std::string Fenced(const std::string& code, const std::string& info = "python") {
  return "```" + info + "\n" + code + "```\n";
}

Answer Extracted(const std::string& text, const AnswerRequest& request = {}) {
  auto result = ExtractAnswer(text, request);
  if (auto* reason = std::get_if<NoAnswer>(&result)) {
    ADD_FAILURE() << NoAnswerName(*reason) << " for\n" << text;
    return {};
  }
  return std::get<Answer>(std::move(result));
}

NoAnswer Refused(const std::string& text, const AnswerRequest& request = {}) {
  auto result = ExtractAnswer(text, request);
  if (std::holds_alternative<Answer>(result)) ADD_FAILURE() << "an answer was found in\n" << text;
  const auto* reason = std::get_if<NoAnswer>(&result);
  return reason != nullptr ? *reason : NoAnswer{};
}

TEST(Answer, CodeBetweenProse) {
  const Answer answer = Extracted("Here it is:\n\n" + Fenced(kCode) + "It is fast.\n");
  EXPECT_EQ(answer.code, kCode);
  EXPECT_EQ(answer.prose, "Here it is:\n\nIt is fast.");
  EXPECT_EQ(answer.thoughts, "");
}

TEST(Answer, ThoughtsAreCutAwayWithTheCodeThatStandsInThem) {
  const std::string draft = Fenced("class ModelNew:\n    draft = 1\n");
  const Answer answer = Extracted("<think>Try:\n" + draft + "no.</think>\n" + Fenced(kCode));
  EXPECT_EQ(answer.code, kCode);
  EXPECT_NE(answer.thoughts.find("draft = 1"), std::string::npos);
}

// What a model writes that says one thing over and over.
TEST(Answer, ManyTagsAreNotQuadratic) {
  std::string text;
  while (text.size() + 8 <= kMostAnswerBytes) text += "<think>";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(Refused(text), NoAnswer::kUnclosedThought);
  EXPECT_EQ(CodeStart(text), text.size());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << "it was minutes";
}

TEST(Answer, AThoughtThatTheChatTemplateOpened) {
  const Answer answer = Extracted("I think aloud.\n</think>\n\n" + Fenced(kCode));
  EXPECT_EQ(answer.thoughts, "I think aloud.");
  EXPECT_EQ(answer.code, kCode);
}

TEST(Answer, SeveralBlocksTheLastWithEntryAndKernelCounts) {
  const std::string first = kCode + "first = 1\n", last = kCode + "last = 1\n";
  EXPECT_EQ(
      Extracted(Fenced(first) + "better:\n" + Fenced(last) + "use it:\n" + Fenced("m = ModelNew()\n")).code,
      last);
  // A sketch without a kernel after the real one does not win.
  EXPECT_EQ(Extracted(Fenced(kCode) + Fenced("class ModelNew:\n    pass\n")).code, kCode);
}

TEST(Answer, KernelAndClassInBlocksOfTheirOwn) {
  const Answer answer = Extracted(Fenced("import triton\n@triton.jit\ndef k(x):\n    pass\n") + "and\n" +
                                  Fenced("class ModelNew:\n    pass\n"));
  EXPECT_NE(answer.code.find("@triton.jit"), std::string::npos);
  EXPECT_NE(answer.code.find("class ModelNew"), std::string::npos);
}

TEST(Answer, FencesOfOtherForms) {
  EXPECT_EQ(Extracted("~~~py\n" + kCode + "~~~\n").code, kCode);
  EXPECT_EQ(Extracted("````\n" + kCode + "````").code, kCode);
  EXPECT_EQ(Extracted("```python\n" + kCode).code, kCode);  // never closed
  EXPECT_EQ(Extracted("Sure.\n" + kCode).code, kCode);      // no fence at all
  std::string indented = "1. The file:\n\n   ```python\n";
  for (std::string_view rest = kCode; !rest.empty();) {
    const size_t end = rest.find('\n') + 1;
    indented += end > 1 ? "   " + std::string(rest.substr(0, end)) : "\n";
    rest.remove_prefix(end);
  }
  EXPECT_EQ(Extracted(indented + "   ```\n").code, kCode);
  std::string windows = kCode;
  for (size_t at = 0; (at = windows.find('\n', at)) != std::string::npos; at += 2) windows.insert(at, "\r");
  EXPECT_NE(Extracted("```python\r\n" + windows + "```\r\n").code.find("class ModelNew"), std::string::npos);
}

TEST(Answer, TagsOfDrTriton) {
  const AnswerRequest request{
      .form = AnswerForm::kTag, .tag = "triton_code", .entry = "triton_fused_operator"};
  const std::string code =
      "@triton.jit\ndef k(x):\n    pass\n\n\ndef triton_fused_operator(x):\n    return x\n";
  EXPECT_EQ(Extracted("<triton_code>\n" + code + "</triton_code>", request).code, code);
  EXPECT_EQ(Extracted("<triton_code>\n" + code, request).code, code);
  EXPECT_EQ(Extracted("<triton_code>\n" + Fenced(code) + "</triton_code>", request).code, code);
  EXPECT_EQ(Extracted(Fenced(code), request).code, code);
  EXPECT_EQ(Refused("I cannot.", request), NoAnswer::kNoTag);
  EXPECT_EQ(Refused("<triton_code></triton_code>", request), NoAnswer::kNoEntry);
}

TEST(Answer, EveryReasonHasItsOwnName) {
  const std::string kernel = "@triton.jit\ndef k(x):\n    pass\n";
  EXPECT_EQ(Refused(""), NoAnswer::kEmpty);
  EXPECT_EQ(Refused(" \n\t"), NoAnswer::kEmpty);
  EXPECT_EQ(Refused("<think>all</think>\n"), NoAnswer::kEmpty);
  EXPECT_EQ(Refused(std::string(kMostAnswerBytes + 1, 'a')), NoAnswer::kTooLong);
  EXPECT_EQ(Refused("```\n\xff\n```"), NoAnswer::kNotUtf8);
  EXPECT_EQ(Refused("<think>and on\n" + Fenced(kCode)), NoAnswer::kUnclosedThought);
  EXPECT_EQ(Refused("I am sorry, I cannot help."), NoAnswer::kNoCode);
  EXPECT_EQ(Refused(Fenced(kernel)), NoAnswer::kNoEntry);
  EXPECT_EQ(Refused(Fenced("# class ModelNew\ns = 'class ModelNew'\n")), NoAnswer::kNoEntry);
  EXPECT_EQ(Refused(Fenced("class ModelNew:\n    s = '@triton.jit'\n")), NoAnswer::kNoKernel);
  EXPECT_EQ(Refused("```python\n" + kCode, {.cut_off = true}), NoAnswer::kCutOff);
  EXPECT_EQ(Refused("<think>and on", {.cut_off = true}), NoAnswer::kCutOff);
  std::set<std::string_view> names, sentences;
  for (int i = 0; i <= static_cast<int>(NoAnswer::kNoTag); ++i) {
    names.insert(NoAnswerName(static_cast<NoAnswer>(i)));
    sentences.insert(NoAnswerReason(static_cast<NoAnswer>(i)));
  }
  EXPECT_EQ(names.size(), 9u);
  EXPECT_EQ(sentences.size(), 9u);
}

TEST(Answer, WhatWasCompleteBeforeTheLimitCounts) {
  EXPECT_EQ(Extracted(Fenced(kCode) + "and it is fa", {.cut_off = true}).code, kCode);
}

TEST(Answer, FunctionsWithoutAKernelWhereNoneIsNeeded) {
  const AnswerRequest request{.form = AnswerForm::kFunction, .entry = "wrapper", .kernel_needed = false};
  EXPECT_EQ(Extracted(Fenced("def wrapper(x):\n    return x\n"), request).code,
            "def wrapper(x):\n    return x\n");
}

TEST(FourSteps, HeadingsAsModelsWriteThem) {
  const char* forms[] = {
      "Step 1: Access pattern. Rows.\nStep 2: Launch. One program a row.\nStep 3: Load, compute, store. "
      "Sum.\n"
      "Step 4: Wrapper. Allocates.\n",
      "## 1. Identify access pattern\nRows.\n## 2. Set up kernel launch\nOne program a row.\n"
      "## 3. Load/compute/store\nSum.\n## 4. Integrate with the PyTorch wrapper\nAllocates.\n",
      "**Access pattern:** Rows.\n**Launch:** One program a row.\n**Load-compute-store:** Sum.\n"
      "**Wrapper:** Allocates.",
      "1. How the data is accessed: Rows.\n2. How kernels are launched: One program a row.\n"
      "3. What a program does: Sum.\n4. Integration: Allocates.\n",
      "1. Memory access: Rows.\n2. Grid: One program a row.\n3. Work of one program: Sum.\n"
      "4. Calling side: Allocates.\n",
      "Kernel 1 (k).\n  Access: Rows.\n  Launch: One program a row.\n  Work: Sum.\nWrapper: Allocates."};
  for (const char* text : forms) {
    const FourSteps steps = FindFourSteps(text);
    EXPECT_EQ(steps.access, "Rows.") << text;
    EXPECT_EQ(steps.launch, "One program a row.") << text;
    EXPECT_EQ(steps.compute, "Sum.") << text;
    EXPECT_EQ(steps.wrapper, "Allocates.") << text;
  }
}

TEST(FourSteps, FoundInThoughtsOrProseAndNotInIdleTalk) {
  const std::string steps = "Access pattern: rows\nLaunch: a row each\nLoad: x\nWrapper: torch.empty\n";
  ASSERT_TRUE(Extracted("<think>" + steps + "</think>" + Fenced(kCode)).steps);
  ASSERT_TRUE(Extracted(steps + Fenced(kCode)).steps);
  EXPECT_TRUE(Extracted(steps + Fenced(kCode)).steps->complete());
  EXPECT_EQ(Extracted(steps + Fenced(kCode)).steps->ToText(),
            "Access pattern: rows\nLaunch: a row each\nLoad, compute, store: x\nWrapper: torch.empty\n");
  EXPECT_FALSE(Extracted("I load it and launch it with care.\n" + Fenced(kCode)).steps);
}

TEST(FormatAnswer, IsTakenApartAgain) {
  const std::string plan = "1. Access pattern: rows.\n2. Launch: a row each.";
  for (const std::string& code :
       {kCode, kCode + "s = \"\"\"\n```\n````python\n~~~\n\"\"\"\n", "\n\n" + kCode + "\n \n"}) {
    for (const char* thoughts : {"", "hm\n\nyes"}) {
      for (const std::string& words : {plan, std::string()}) {
        const std::string text = FormatAnswer(thoughts, words, code);
        const Answer answer = Extracted(text);
        EXPECT_EQ(answer.thoughts, thoughts);
        EXPECT_EQ(answer.prose, words);
        EXPECT_EQ(answer.code, code.starts_with("\n") ? kCode : code);
        EXPECT_EQ(FormatAnswer(answer.thoughts, answer.prose, answer.code), text);
        EXPECT_EQ(text.substr(CodeStart(text), 3), "```");
        EXPECT_EQ(FormatAnswer(thoughts, words, "").substr(0, CodeStart(text)),
                  text.substr(0, CodeStart(text)));
      }
    }
  }
}

TEST(CodeStart, BehindThoughtsAtAFenceOrAnImport) {
  const std::string draft = "<think>\n```\nno\n```\n</think>\n";
  EXPECT_EQ(CodeStart(draft + "Plan.\n" + Fenced(kCode)), draft.size() + 6);
  EXPECT_EQ(CodeStart(draft + "<triton_code>\nimport torch\n"), draft.size() + 14);
  EXPECT_EQ(CodeStart("I cannot."), 9u);
  EXPECT_EQ(CodeStart(draft), draft.size());
}

}  // namespace
}  // namespace tritogen
