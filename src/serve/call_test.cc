#include <gtest/gtest.h>

#include "serve/test_model.h"

namespace tritogen::serve {
namespace {

class CallTest : public testing::Test {
 protected:
  Call Completion(const std::string& body) {
    return ParseCompletion(body, model_.served, 16, &model_.encoder);
  }
  Call Chat(const std::string& body) { return ParseChat(body, model_.served, 16, &model_.encoder); }
  // A completion with these fields beside the prompt.
  Call With(const std::string& fields) { return Completion(R"({"prompt": "hello", )" + fields + "}"); }
  Call ChatWith(const std::string& fields) {
    return Chat(R"({"messages": [{"role": "user", "content": "hi"}], )" + fields + "}");
  }
  std::string Text(const Call& call, size_t prompt = 0) {
    return model_.tokenizer.Decode(call.prompts[prompt]);
  }

  static void ExpectRefused(const std::function<void()>& parse, const std::string& param, int status = 400) {
    try {
      parse();
      ADD_FAILURE() << "accepted; it should have named " << param;
    } catch (const ApiError& error) {
      EXPECT_EQ(error.param(), param) << error.what();
      EXPECT_EQ(error.status(), status) << error.what();
    }
  }

  TestModel model_;
};

TEST_F(CallTest, ReadsPromptsOfEveryForm) {
  EXPECT_EQ(Text(Completion(R"({"prompt": "größer 🦊"})")), "größer 🦊");
  const Call texts = Completion(R"({"prompt": ["one", "two"]})");
  ASSERT_EQ(texts.prompts.size(), 2u);
  EXPECT_EQ(Text(texts, 1), "two");
  EXPECT_EQ(Completion(R"({"prompt": [5, 6, 7]})").prompts, (std::vector<std::vector<TokenId>>{{5, 6, 7}}));
  EXPECT_EQ(Completion(R"({"prompt": [[5], [6, 7]]})").prompts,
            (std::vector<std::vector<TokenId>>{{5}, {6, 7}}));
}

TEST_F(CallTest, RefusesObjectsThatTakeQuadraticTime) {
  std::string many = "{\"prompt\": \"a\"";
  for (int i = 0; i < 600; ++i) many += fmt::format(", \"k{}\": 0", i);
  try {
    Completion(many + "}");
    ADD_FAILURE();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.code(), "invalid_json");
    EXPECT_NE(std::string(error.what()).find("more than 512 keys"), std::string::npos) << error.what();
  }
}

TEST_F(CallTest, RefusesPromptsThatAreNone) {
  for (const char* body : {R"({})", R"({"prompt": null})", R"({"prompt": ""})", R"({"prompt": []})",
                           R"({"prompt": [[]]})", R"({"prompt": 5})", R"({"prompt": [5, "a"]})",
                           R"({"prompt": ["a", 5]})", R"({"prompt": [[5], ["a"]]})", R"({"prompt": [-1]})",
                           R"({"prompt": [1.5]})", R"({"prompt": [4000000000]})", R"({"prompt": [1507]})",
                           R"({"prompt": {"a": 1}})", R"({"prompt": [true]})"}) {
    SCOPED_TRACE(body);
    ExpectRefused([&] { Completion(body); }, "prompt");
  }
}

TEST_F(CallTest, RefusesAPromptAsLongAsTheContext) {
  std::string ids = "1";
  for (int i = 1; i < 127; ++i) ids += ",1";
  EXPECT_EQ(Completion(R"({"prompt": [)" + ids + "]}").prompts[0].size(), 127u);
  try {
    Completion(R"({"prompt": [)" + ids + ",1]}");
    ADD_FAILURE();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.code(), "context_length_exceeded");
  }
}

TEST_F(CallTest, ReadsSamplingOptions) {
  const Call call = With(R"("temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.1, "seed": -2,
      "repetition_penalty": 1.1, "max_tokens": 7, "n": 3, "stop": ["a", "b"], "logprobs": 2,
      "stop_token_ids": [9], "skip_special_tokens": false, "stream": true, "stream_options": {"include_usage": true})");
  const SamplingOptions& sampling = call.options.sampling;
  EXPECT_FLOAT_EQ(sampling.temperature, 0.5);
  EXPECT_FLOAT_EQ(sampling.top_p, 0.9);
  EXPECT_EQ(sampling.top_k, 40);
  EXPECT_FLOAT_EQ(sampling.min_p, 0.1);
  EXPECT_FLOAT_EQ(sampling.repetition_penalty, 1.1);
  EXPECT_EQ(sampling.seed, static_cast<uint64_t>(-2));
  EXPECT_EQ(sampling.top_logprobs, 2);
  EXPECT_TRUE(call.logprobs && call.stream && call.include_usage);
  EXPECT_EQ(call.options.max_tokens, 7);
  EXPECT_EQ(call.n, 3);
  EXPECT_EQ(call.options.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(call.options.stop_tokens, (std::vector<TokenId>{model_.served.defaults.stop_tokens[0], 9}));
  EXPECT_FALSE(call.options.skip_special_tokens);
}

TEST_F(CallTest, AbsentOptionsAreOpenAIs) {
  const Call call = With(R"("temperature": null, "stop": null, "seed": null, "user": "me", "best_of": 1)");
  EXPECT_FLOAT_EQ(call.options.sampling.temperature, 1);
  EXPECT_FLOAT_EQ(call.options.sampling.top_p, 1);
  EXPECT_EQ(call.options.max_tokens, 16);
  EXPECT_EQ(call.options.stop_tokens, model_.served.defaults.stop_tokens);
  EXPECT_FALSE(call.logprobs || call.stream);
  EXPECT_NE(call.options.sampling.seed, With(R"("n": 1)").options.sampling.seed);
  EXPECT_TRUE(With(R"("ignore_eos": true)").options.stop_tokens.empty());
  EXPECT_EQ(With(R"("top_k": -1)").options.sampling.top_k, 0);
  EXPECT_EQ(ChatWith(R"("n": 1)").options.max_tokens, 0);
}

TEST_F(CallTest, TheModelsDefaultsHoldWhereACallSaysNothing) {
  model_.served.defaults.sampling = {.temperature = 0.6f, .top_k = 20, .top_p = 0.95f};
  const SamplingOptions silent = With(R"("n": 1)").options.sampling;
  EXPECT_FLOAT_EQ(silent.temperature, 0.6f);
  EXPECT_FLOAT_EQ(silent.top_p, 0.95f);
  EXPECT_EQ(silent.top_k, 20);
  const SamplingOptions outspoken = With(R"("temperature": 1, "top_k": 0)").options.sampling;
  EXPECT_FLOAT_EQ(outspoken.temperature, 1);
  EXPECT_EQ(outspoken.top_k, 0);
}

TEST_F(CallTest, NamesTheFieldThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {{"temperature", "2.1"},
                                                       {"temperature", "-0.1"},
                                                       {"temperature", "\"1\""},
                                                       {"top_p", "0"},
                                                       {"top_p", "1.01"},
                                                       {"min_p", "2"},
                                                       {"top_k", "-2"},
                                                       {"top_k", "1.5"},
                                                       {"repetition_penalty", "0"},
                                                       {"seed", "1e30"},
                                                       {"seed", "\"a\""},
                                                       {"max_tokens", "0"},
                                                       {"max_tokens", "-1"},
                                                       {"n", "0"},
                                                       {"n", "17"},
                                                       {"logprobs", "21"},
                                                       {"logprobs", "true"},
                                                       {"stop", "\"\""},
                                                       {"stop", "[1]"},
                                                       {"stop", "5"},
                                                       {"stop_token_ids", "[-1]"},
                                                       {"stop_token_ids", "7"},
                                                       {"stream", "1"},
                                                       {"ignore_eos", "\"no\""},
                                                       {"stream_options", "{}"},
                                                       {"suffix", "\"x\""},
                                                       {"best_of", "2"},
                                                       {"logit_bias", R"({"5": 1})"},
                                                       {"presence_penalty", "0.5"},
                                                       {"min_tokens", "3"},
                                                       {"bogus", "1"},
                                                       {"response_format", R"({"type": "json_object"})"},
                                                       {"frequency_penalty", "1"},
                                                       {"echo", "\"x\""},
                                                       {"model", "7"},
                                                       {"seed", "18446744073709551615"}};
  for (const auto& [name, value] : cases) {
    SCOPED_TRACE(fmt::format("{}: {}", name, value));
    ExpectRefused([&] { With(fmt::format("\"{}\": {}", name, value)); }, name);
  }
  ExpectRefused([&] { With(R"("stream": true, "stream_options": {"bogus": 1})"); }, "stream_options.bogus");
  ExpectRefused([&] { With(R"("echo": true, "logprobs": 0)"); }, "echo");
  ExpectRefused([&] { With(R"("model": "other")"); }, "model", 404);
  ExpectRefused([&] { Completion(R"({"prompt": ["a", "b", "c"], "n": 6})"); }, "n");
  EXPECT_EQ(With(R"("model": "tiny")").n, 1);
}

TEST_F(CallTest, SaysWhatWouldBeRight) {
  const auto message = [&](const std::string& fields) -> std::string {
    try {
      With(fields);
    } catch (const ApiError& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_EQ(message(R"("top_p": 0)"), "top_p: 0 is outside (0, 1]");
  EXPECT_EQ(message(R"("top_p": 1.5)"), "top_p: 1.5 is outside (0, 1]");
  EXPECT_EQ(message(R"("repetition_penalty": -1)"), "repetition_penalty: -1 is outside (0, 3.4e+38]");
  EXPECT_EQ(message(R"("n": 1.5)"), "n: expected an integer, got 1.5");
  EXPECT_EQ(message(R"("n": "2")"), "n: expected an integer, got string");
  EXPECT_EQ(message(R"("seed": 18446744073709551616)"),
            "seed: expected an integer, got 1.8446744073709552e+19");
}

TEST_F(CallTest, AcceptsWhatWouldChangeNothing) {
  With(
      R"("presence_penalty": 0, "frequency_penalty": 0.0, "logit_bias": {}, "suffix": null, "metadata": {"a": 1},
          "response_format": {"type": "text"}, "min_tokens": 0)");
  ChatWith(
      R"("tools": [], "tool_choice": "none", "modalities": ["text"], "store": true, "parallel_tool_calls": false,
              "top_logprobs": 0)");
}

TEST_F(CallTest, EchoesPrompts) {
  EXPECT_EQ(With(R"("echo": true)").echoes, (std::vector<std::string>{"hello"}));
  EXPECT_TRUE(With(R"("echo": false)").echoes.empty());
  const Call ids = Completion(R"({"prompt": [[5], [6, 7]], "echo": true})");
  EXPECT_EQ(ids.echoes, (std::vector<std::string>{Text(ids, 0), Text(ids, 1)}));
}

TEST_F(CallTest, RefusesWhatIsNoJsonObject) {
  for (const std::string body : {"", "x", "[]", "5", "{\"prompt\": \"\xff\"}", R"({"prompt": "\ud800"})",
                                 R"({"prompt": 1e999})", R"({"prompt": "a"} x)"}) {
    SCOPED_TRACE(body);
    ExpectRefused([&] { Completion(body); }, "");
    ExpectRefused([&] { Chat(body); }, "");
  }
  ExpectRefused([&] { Completion(std::string(100000, '[')); }, "");
}

TEST_F(CallTest, FillsTheChatTemplate) {
  const Call call = Chat(R"({"messages": [{"role": "system", "content": "Be kind."},
      {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}],
      "max_tokens": 3, "max_completion_tokens": 4, "logprobs": true, "top_logprobs": 5})");
  EXPECT_EQ(Text(call),
            "<|im_start|>system\nBe "
            "kind.<|im_end|>\n<|im_start|>user\none\ntwo<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(call.options.max_tokens, 4);
  EXPECT_EQ(call.options.sampling.top_logprobs, 5);
  EXPECT_EQ(call.prompts[0][0], *model_.tokenizer.Find("<|im_start|>"));
  const Call no_thoughts = ChatWith(R"("chat_template_kwargs": {"enable_thinking": false})");
  EXPECT_TRUE(Text(no_thoughts).ends_with("<think>\n\n</think>\n\n"));
}

TEST_F(CallTest, TellsTheTemplateOfEarlierToolCalls) {
  const Call call =
      Chat(R"({"messages": [{"role": "user", "content": "u"}, {"role": "assistant", "content": null,
      "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"z\": 1, \"a\": 2}"}}]},
      {"role": "tool", "tool_call_id": "1", "content": "r"}]})");
  EXPECT_NE(Text(call).find(R"({"name": "f", "arguments": {"z": 1, "a": 2}})"), std::string::npos)
      << Text(call);
  EXPECT_NE(Text(call).find("<tool_response>\nr\n</tool_response>"), std::string::npos);
}

TEST_F(CallTest, NamesTheMessageThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"messages", "[]"},
      {"messages", "\"hi\""},
      {"messages[0]", "[5]"},
      {"messages[0].role", R"([{"content": "a"}])"},
      {"messages[0].role", R"([{"role": 5, "content": "a"}])"},
      {"messages[1].content", R"([{"role": "user", "content": "a"}, {"role": "user"}])"},
      {"messages[0].content", R"([{"role": "user", "content": 5}])"},
      {"messages[0].content[0]", R"([{"role": "user", "content": ["a"]}])"},
      {"messages[0].content[0].text", R"([{"role": "user", "content": [{"type": "text"}]}])"},
      {"messages[0].content[1].type",
       R"([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}])"},
      {"messages[0].tool_calls", R"([{"role": "assistant", "tool_calls": [5]}])"},
      {"messages[0].tool_calls",
       R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}])"}};
  for (const auto& [name, value] : cases) {
    SCOPED_TRACE(value);
    ExpectRefused([&] { Chat(fmt::format(R"({{"messages": {}}})", value)); }, name);
  }
  ExpectRefused([&] { Chat("{}"); }, "messages");
}

TEST_F(CallTest, NamesWhatChatsDoNotHave) {
  for (const auto& [name, value] : {std::pair("tools", R"([{"type": "function"}])"),
                                    {"tool_choice", "\"auto\""},
                                    {"top_logprobs", "3"},
                                    {"prompt", "\"a\""},
                                    {"reasoning_effort", "\"low\""},
                                    {"chat_template_kwargs", "5"},
                                    {"echo", "true"},
                                    {"logprobs", "3"}}) {
    SCOPED_TRACE(name);
    ExpectRefused([&, name = name, value = value] { ChatWith(fmt::format("\"{}\": {}", name, value)); },
                  name);
  }
  model_.served.chat_template = nullptr;
  ExpectRefused([&] { ChatWith(R"("n": 1)"); }, "model", 404);
}

}  // namespace
}  // namespace tritogen::serve
