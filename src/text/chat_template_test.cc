#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/temp_dir.h"

namespace tritogen {
namespace {

using jinja::Value;

std::string Golden(const std::string& name) {
  return ReadFile(std::string(TRITOGEN_SOURCE_DIR) + "/tests/golden/chat/" + name);
}

std::string Repeated(std::string_view text, int times) {
  std::string out;
  while (times-- > 0) out += text;
  return out;
}

// The text, or "error: " and what was wrong.
std::string Outcome(const std::string& source, const Value& messages, const ChatOptions& options) {
  try {
    return ChatTemplate(source, {{"bos_token", "<s>"}, {"eos_token", "</s>"}}).Render(messages, options);
  } catch (const FormatError& error) {
    return std::string("error: ") + error.what();
  }
}

TEST(ChatTemplate, TextsAreThoseOfTransformers) {
  const Value cases = Value::parse(Golden("cases.json"));
  ASSERT_GT(cases.size(), 200u);
  for (const Value& item : cases) {
    const std::string source =
        item.contains("source") ? item["source"].get<std::string>() : Golden(item["template"]);
    const std::string text = Outcome(source, item["messages"], {item["prompt"].get<bool>(), item["extra"]});
    if (item.contains("error")) {
      EXPECT_TRUE(text.starts_with("error: ")) << item << "\n" << text;
    } else {
      EXPECT_EQ(text, item["text"].get<std::string>()) << item;
    }
  }
}

TEST(ChatTemplate, WhatIsNotSupportedIsNamedWithItsLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\n{% macro f() %}{% endmacro %}", "line 2: 'macro' blocks are not supported"},
      {"{% include 'x' %}", "'include' blocks"},
      {"{{ 'a' | rot13 }}", "the filter 'rot13' is not supported"},
      {"{{ f() }}", "the function 'f' is not supported"},
      {"{{ 'a'.zfill(3) }}", "the method 'zfill' of string is not supported"},
      {"{{ 1 is prime }}", "the test 'prime' is not supported"},
      {"{% if true %}", "'if' is never closed"},
      {"{% endfor %}", "'endfor' closes nothing"},
      {"{% for x in y %}{% else %}{% endfor %}", "'else' within a for"},
      {"{{ 1 + }}", "ends too early"},
      {"{{ 'a }}", "a tag without '}}'"},
      {"{{ a.b.c }}", "'b' of an undefined value"},
      {"{{ messages }}", "tojson"},
      {"{{ range }}", "a function where text is expected"},
      {"{{ 'a b'.split(maxsplit=1) }}",
       "arguments by name (maxsplit) are not supported for the method 'split'"},
      {"{{ 'xa' | trim(chars='x') }}", "the argument 'chars' of the filter 'trim' is not supported"},
      {"{{ [1] | tojson(sort_keys=true) }}", "the argument 'sort_keys' of the filter 'tojson'"},
      {"{{ namespace([1]) }}", "the function 'namespace' is not supported"},
      {"{{ " + std::string(200, '(') + "1 }}", "nested too deeply"},
      {"{% for a in range(90000) %}{{ 'x' " + Repeated("~ a ", 300) + "}}{% endfor %}", "2 million steps"},
      {"{{ 1 " + Repeated("+ 1 ", 20000) + "}}", "too long"},
  };
  for (const auto& [source, expected] : cases) {
    const std::string text = Outcome(source, Value::array(), {});
    EXPECT_NE(text.find(expected), std::string::npos) << source.substr(0, 100) << ": " << text;
  }
  EXPECT_NE(Outcome("", Value::parse(R"([{"role":"user"},{"content":"x"}])"), {}).find("messages[1]"),
            std::string::npos);
}

// To look at one of them must not copy all.
TEST(ChatTemplate, ManyMessagesDoNotTakeQuadraticTime) {
  Value messages = Value::array();
  for (int i = 0; i < 20'000; ++i) messages.push_back({{"role", "tool"}, {"content", "x"}});
  const std::string look = "messages[loop.index0].role == 'tool' and messages[-1] is mapping and not ";
  const std::string source =
      "{% for m in messages %}{% if " + look +
      "(messages | length == 1 or 'x' in messages[loop.index0 - 1])%}.{% endif %}{% endfor %}";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(Outcome(source, messages, {}), std::string(20'000, '.'));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << "it was minutes";
}

// Llama 3.2's templates write today's date where there is a clock, else one of 2024.
TEST(ChatTemplate, TheClockIsFound) {
  const std::string source =
      "{% if strftime_now is defined %}{{ strftime_now('%Y') }}{% else %}26 Jul 2024{% endif %}";
  const std::string text = Outcome(source, Value::array(), {});
  EXPECT_EQ(text.size(), 4u) << text;
}

TEST(ChatTemplate, IsFoundInAModelFolder) {
  const TempDir dir;
  const Value hello = Value::parse(R"([{"role":"user","content":"hi"}])");
  EXPECT_THROW(LoadChatTemplate(dir.path()), UserError);
  WriteFileAtomic(dir.path() / "tokenizer_config.json", R"({"bos_token":{"content":"<b>"}})");
  EXPECT_THROW(LoadChatTemplate(dir.path()), UserError);
  WriteFileAtomic(
      dir.path() / "tokenizer_config.json",
      R"({"bos_token":{"content":"<b>"},"chat_template":[{"name":"default","template":"{{ bos_token }}1"}]})");
  EXPECT_EQ(LoadChatTemplate(dir.path()).Render(hello), "<b>1");
  WriteFileAtomic(dir.path() / "chat_template.jinja", "{{ bos_token }}{{ messages[0].content }}\n");
  EXPECT_EQ(LoadChatTemplate(dir.path()).Render(hello), "<b>hi");
}

// A model whose template cannot be used still goes on from texts.
TEST(ChatTemplate, AFolderMayHaveNone) {
  const TempDir dir;
  const auto why_none = [&] {
    const FoundChatTemplate none = FindChatTemplate(dir.path());
    EXPECT_FALSE(none.found);
    return none.why_none;
  };
  EXPECT_NE(why_none().find("tokenizer_config.json: there is no chat_template"), std::string::npos);
  for (const char* config :
       {R"({"chat_template": null})", R"({"chat_template": [{"name": "rag", "template": ""}]})"}) {
    WriteFileAtomic(dir.path() / "tokenizer_config.json", config);
    EXPECT_NE(why_none().find("there is no chat_template"), std::string::npos) << config;
  }
  WriteFileAtomic(dir.path() / "tokenizer_config.json", R"({"chat_template": "{% macro f() %}"})");
  EXPECT_NE(why_none().find("line 1: 'macro' blocks are not supported"), std::string::npos) << why_none();
  WriteFileAtomic(dir.path() / "tokenizer_config.json", R"({"chat_template": "x"})");
  EXPECT_TRUE(FindChatTemplate(dir.path()).found);
}

}  // namespace
}  // namespace tritogen
