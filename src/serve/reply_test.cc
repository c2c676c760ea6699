#include "serve/reply.h"

#include <gtest/gtest.h>

#include <cmath>

#include "serve/test_model.h"

namespace tritogen::serve {
namespace {

class ReplyTest : public testing::Test {
 protected:
  Call NewCall(CallKind kind, bool stream) { return {.kind = kind, .prompts = {{1, 2}}, .stream = stream}; }
  Reply NewReply(const Call& call) { return Reply(call, model_.served, "id-1", 77); }
  Sample Of(const std::string& token, float logprob = -0.5f) {
    return {.chosen = {*model_.tokenizer.Find(token), logprob}, .top = {}};
  }
  static std::vector<Json> Events(const std::string& text) {
    std::vector<Json> events;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find("\n\n", at);
      const std::string event = text.substr(at, end - at);
      EXPECT_TRUE(event.starts_with("data: ")) << event;
      events.push_back(event == "data: [DONE]" ? Json("done") : Json::parse(event.substr(6)));
      at = end + 2;
    }
    return events;
  }

  TestModel model_;
};

TEST_F(ReplyTest, CompletionIsOneObject) {
  Call call = NewCall(CallKind::kCompletion, false);
  call.prompts = {{1, 2}, {3}};
  call.n = 2;
  Reply reply = NewReply(call);
  for (int32_t i : {1, 0}) {
    for (size_t prompt : {1, 0}) {
      EXPECT_EQ(
          reply.Add(prompt, {.index = i, .samples = {Of("a")}, .text = fmt::format("{}{} ", prompt, i)}), "");
      EXPECT_FALSE(reply.complete());
      reply.Add(prompt, {.index = i,
                         .samples = {Of("b")},
                         .text = "ü",
                         .finish = i == 0 ? FinishReason::kStop : FinishReason::kLength});
    }
  }
  ASSERT_TRUE(reply.complete());
  const Json body = Json::parse(reply.Finish());
  EXPECT_EQ(body["id"], "id-1");
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["created"], 77);
  EXPECT_EQ(body["model"], "tiny");
  ASSERT_EQ(body["choices"].size(), 4u);
  EXPECT_EQ(body["choices"][2],
            Json::parse(R"({"index": 2, "text": "10 ü", "logprobs": null, "finish_reason": "stop"})"));
  EXPECT_EQ(body["choices"][3]["text"], "11 ü");
  EXPECT_EQ(body["choices"][3]["finish_reason"], "length");
  EXPECT_EQ(body["usage"],
            Json::parse(R"({"prompt_tokens": 3, "completion_tokens": 8, "total_tokens": 11})"));
}

TEST_F(ReplyTest, ChatIsOneObject) {
  Reply reply = NewReply(NewCall(CallKind::kChat, false));
  reply.Add(0, {.samples = {Of("a")}, .text = "a\"\n", .finish = FinishReason::kStop});
  const Json body = Json::parse(reply.Finish());
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["choices"][0]["message"],
            Json::parse(R"({"role": "assistant", "content": "a\"\n", "refusal": null})"));
}

TEST_F(ReplyTest, StreamedCompletion) {
  Call call = NewCall(CallKind::kCompletion, true);
  call.echoes = {"prompt:"};
  Reply reply = NewReply(call);
  auto events = Events(reply.Add(0, {.samples = {Of("a")}, .text = "a"}));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["choices"][0]["text"], "prompt:a");
  EXPECT_EQ(events[0]["choices"][0]["finish_reason"], nullptr);
  EXPECT_FALSE(events[0].contains("usage"));
  EXPECT_EQ(reply.Add(0, {.samples = {Of("b")}}), "");  // text that waits is no news
  events = Events(reply.Add(0, {.samples = {Of("c")}, .text = "bc", .finish = FinishReason::kLength}));
  EXPECT_EQ(events[0]["choices"][0],
            Json::parse(R"({"index": 0, "text": "bc", "logprobs": null, "finish_reason": "length"})"));
  EXPECT_EQ(Events(reply.Finish()), (std::vector<Json>{"done"}));
}

TEST_F(ReplyTest, StreamedChat) {
  Call call = NewCall(CallKind::kChat, true);
  call.include_usage = true;
  call.n = 2;
  Reply reply = NewReply(call);
  auto events = Events(reply.Add(0, {.index = 1, .samples = {Of("a")}, .text = "a"}));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["object"], "chat.completion.chunk");
  EXPECT_EQ(events[0]["choices"][0]["delta"], Json::parse(R"({"role": "assistant", "content": ""})"));
  EXPECT_EQ(events[1]["choices"][0]["delta"], Json::parse(R"({"content": "a"})"));
  EXPECT_EQ(events[1]["choices"][0]["index"], 1);
  EXPECT_EQ(events[1]["usage"], nullptr);
  events = Events(reply.Add(0, {.index = 1, .samples = {Of("b")}, .finish = FinishReason::kStop}));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["choices"][0]["delta"], Json::object());
  EXPECT_EQ(events[0]["choices"][0]["finish_reason"], "stop");
  reply.Add(0, {.samples = {Of("b")}, .finish = FinishReason::kStop});
  events = Events(reply.Finish());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["choices"], Json::array());
  EXPECT_EQ(events[0]["usage"]["completion_tokens"], 3);
  EXPECT_EQ(events[1], "done");
}

TEST_F(ReplyTest, LogprobsOfCompletions) {
  Call call = NewCall(CallKind::kCompletion, true);
  call.logprobs = true;
  Reply reply = NewReply(call);
  Sample first = Of("a");
  first.top = {Of("b", -0.25f).chosen, Of("\xc3", -INFINITY).chosen};
  auto events = Events(reply.Add(0, {.samples = {first, Of("<|im_end|>")}, .text = ""}));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["choices"][0]["logprobs"],
            Json::parse(R"({"tokens": ["a", "<|im_end|>"], "token_logprobs": [-0.5, -0.5],
      "top_logprobs": [{"b": -0.25, "bytes:\\xc3": -9999.0, "a": -0.5}, {"<|im_end|>": -0.5}], "text_offset": [0, 1]})"));
  // Two tokens make one character; a special token is not in the text.
  events = Events(reply.Add(
      0, {.samples = {Of("\xc3"), Of("\xbc"), Of("c", NAN)}, .text = "aüc", .finish = FinishReason::kStop}));
  EXPECT_EQ(events[0]["choices"][0]["logprobs"]["text_offset"], Json::parse("[1, 2, 2]"));
  EXPECT_EQ(events[0]["choices"][0]["logprobs"]["token_logprobs"][2], nullptr);
}

TEST_F(ReplyTest, LogprobsOfChats) {
  Call call = NewCall(CallKind::kChat, false);
  call.logprobs = true;
  Reply reply = NewReply(call);
  Sample sample = Of("\xc3");
  sample.top = {Of("b", -0.25f).chosen};
  reply.Add(0, {.samples = {sample}});
  reply.Add(0, {.samples = {Of("b")}, .text = "�b", .finish = FinishReason::kStop});
  const Json logprobs = Json::parse(reply.Finish())["choices"][0]["logprobs"];
  ASSERT_EQ(logprobs["content"].size(), 2u);
  EXPECT_EQ(logprobs["content"][0], Json::parse(R"({"token": "�", "logprob": -0.5, "bytes": [195],
      "top_logprobs": [{"token": "b", "logprob": -0.25, "bytes": [98]}]})"));
}

TEST_F(ReplyTest, ErrorsAreOpenAIs) {
  const ApiError error(400, "too \"hot\" \xff", "temperature");
  EXPECT_EQ(
      Json::parse(error.Body()),
      Json::parse(
          R"({"error": {"message": "too \"hot\" �", "type": "invalid_request_error", "param": "temperature", "code": null}})"));
  const auto events = Events(Reply::ErrorEvents(ApiError(500, "oops")));
  EXPECT_EQ(events[0]["error"]["type"], "server_error");
  EXPECT_EQ(events[1], "done");
}

}  // namespace
}  // namespace tritogen::serve
