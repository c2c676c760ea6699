#include "engine/prompt_file.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tritogen {
namespace {

TEST(PromptFile, ReadsTextsAndMessages) {
  const auto prompts =
      ParsePrompts("{\"prompt\": \"a\"}\n\n{\"id\": 7, \"messages\": [{\"role\": \"user\"}]}\r\n", "f");
  ASSERT_EQ(prompts.size(), 2u);
  EXPECT_EQ(prompts[0].id, "line 1");
  EXPECT_EQ(prompts[0].text, "a");
  EXPECT_TRUE(prompts[0].messages.is_null());
  EXPECT_EQ(prompts[1].id, "7");
  EXPECT_EQ(prompts[1].number, 2) << "seeds go by the line, whatever else is in the file";
  EXPECT_EQ(prompts[1].messages.size(), 1u);
  EXPECT_EQ(AsChat(prompts[0]).messages,
            nlohmann::ordered_json::parse(R"([{"role": "user", "content": "a"}])"));
  EXPECT_EQ(AsChat(prompts[1]).messages, prompts[1].messages);
}

TEST(PromptFile, MessagesKeepTheOrderOfTheirKeys) {
  const std::string messages = R"([{"role":"tool","content":{"z":1,"a":2}}])";
  EXPECT_EQ(ParsePrompts("{\"messages\": " + messages + "}", "f").at(0).messages.dump(), messages);
}

TEST(PromptFile, FaultsAreNamedAndStayWithTheirLines) {
  for (const char* line :
       {"nonsense", "[]", "5", "{}", R"({"prompt": 5})", R"({"messages": {}})", R"({"messages": []})",
        R"({"prompt": "a", "messages": []})", "{\"prompt\": \"\xff\"}"}) {
    const auto prompts =
        ParsePrompts("{\"prompt\": \"a\"}\n" + std::string(line) + "\n{\"prompt\": \"b\"}", "f");
    ASSERT_EQ(prompts.size(), 3u) << line;
    EXPECT_EQ(prompts[1].fault.substr(0, 8), "line 2: ") << prompts[1].fault;
    EXPECT_TRUE(prompts[0].fault.empty() && prompts[2].fault.empty());
  }
}

TEST(PromptFile, RefusesWhatIsNoSetOfPrompts) {
  EXPECT_THROW(ParsePrompts("", "f"), UserError);
  EXPECT_THROW(ParsePrompts("\n \n", "f"), UserError);
  EXPECT_THROW(ParsePrompts("{\"prompt\": \"a\", \"id\": \"x\"}\n{\"prompt\": \"b\", \"id\": \"x\"}", "f"),
               UserError);
  EXPECT_THROW(ReadPrompts("no such file"), UserError);
}

}  // namespace
}  // namespace tritogen
