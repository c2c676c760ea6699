#include "eval/conversations.h"

#include <gtest/gtest.h>

#include "text/prompt.h"

namespace tritogen::eval {
namespace {

using nlohmann::ordered_json;

Attempt Made(const std::string& answer, const std::string& outcome, const std::string& plan = "",
             size_t proposer = 0) {
  Attempt attempt{.proposer = proposer};
  attempt.candidate = {.proposer = proposer == 0 ? "policy" : "other",
                       .asked = {{"system", "be brief"}, {"user", "relu?"}},
                       .answer = answer};
  attempt.reply = {.verdict = {{"verdict", outcome}, {"rule", nullptr}, {"reason", "of " + answer}},
                   .outcome = outcome};
  if (!plan.empty()) attempt.reply.verdict["plan_hash"] = plan;
  return attempt;
}

Task Relu() {
  return {.id = "train/1/0", .ops = {"relu"}, .split = "train"};
}

std::vector<std::string> Texts(const ordered_json& line) {
  std::vector<std::string> texts;
  for (const auto& message : line.at("messages"))
    texts.push_back(message.at("role").get<std::string>() + ": " + message.at("content").get<std::string>());
  return texts;
}
using Words = std::vector<std::string>;

TEST(Conversations, UnlikeRightAnswersAndTheirShare) {
  const Outcomes outcomes{.attempts = {Made("a", "passed", "1"), Made("a again", "passed", "1"),
                                       Made("b", "passed", "2"), Made("c", "wrong_values")}};
  const auto lines = ConversationsOf(Relu(), outcomes);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(Texts(lines[0]), (Words{"system: be brief", "user: relu?", "assistant: a"}));
  EXPECT_EQ(Texts(lines[1]), (Words{"system: be brief", "user: relu?", "assistant: b"}));
  EXPECT_EQ(lines[0]["id"], "train/1/0#0");
  EXPECT_EQ(lines[0]["split"], "train");
  EXPECT_EQ(lines[0]["ops"], (ordered_json{"relu"}));
  EXPECT_EQ(lines[0]["proposer"], "policy");
  EXPECT_EQ(lines[0]["answers_passed"], 0.75);
  EXPECT_EQ(lines[0]["repair"], false);
}

TEST(Conversations, WrongAnswersAreMendedByRightOnesInTurn) {
  const Outcomes outcomes{.attempts = {Made("a", "passed", "1"), Made("b", "passed", "2"),
                                       Made("c", "wrong_values"), Made("c", "wrong_values"),
                                       Made("d", "compile_error"), Made("e", "timeout")}};
  const auto lines = ConversationsOf(Relu(), outcomes);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(Texts(lines[2]), (Words{"system: be brief", "user: relu?", "assistant: c",
                                    "user: " + RepairText("wrong_values", "", "of c"), "assistant: a"}));
  EXPECT_EQ(Texts(lines[3]).back(), "assistant: b");
  EXPECT_EQ(lines[3]["repair"], true);
  EXPECT_EQ(lines[3]["answers_passed"], 0.4);  // the one that ran out of time says nothing
}

TEST(Conversations, ARepairThatPassedIsOneAsItWas) {
  Attempt mended = Made("better", "passed", "1");
  mended.mends = 0;
  mended.candidate.asked.push_back({"assistant", "c"});
  mended.candidate.asked.push_back({"user", "it is wrong"});
  const auto lines = ConversationsOf(Relu(), {.attempts = {Made("c", "wrong_values"), mended}});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(Texts(lines[0]), (Words{"system: be brief", "user: relu?", "assistant: c", "user: it is wrong",
                                    "assistant: better"}));
  EXPECT_EQ(lines[0]["repair"], true);
  EXPECT_EQ(lines[0]["answers_passed"], 0.0);
}

TEST(Conversations, NothingIsLearnedFromOthersAnswersOrWithoutARightOne) {
  Attempt teachers = Made("", "passed", "1");
  Attempt cut = Made("d", "no_answer");
  cut.candidate.no_answer = "cut_off: it ran out of room";
  EXPECT_TRUE(ConversationsOf(Relu(), {.attempts = {teachers}}).empty());
  EXPECT_TRUE(ConversationsOf(Relu(), {.attempts = {Made("c", "wrong_values")}}).empty());
  EXPECT_EQ(ConversationsOf(Relu(), {.attempts = {Made("a", "passed", "1"), cut}}).size(), 1u);
  // Each proposer was asked in its own words.
  const auto lines =
      ConversationsOf(Relu(), {.attempts = {Made("a", "passed", "1"), Made("c", "wrong_values", "", 1)}});
  EXPECT_EQ(lines.size(), 1u);
}

TEST(Conversations, TasksThatNameNoSplitMakeLinesThatNameNone) {
  Task task = Relu();
  task.split.clear();
  EXPECT_FALSE(ConversationsOf(task, {.attempts = {Made("a", "passed", "1")}}).at(0).contains("split"));
}

}  // namespace
}  // namespace tritogen::eval
