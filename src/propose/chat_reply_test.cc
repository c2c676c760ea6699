#include "propose/chat_reply.h"

#include <gtest/gtest.h>

#include "base/splitmix.h"

namespace tritogen {
namespace {

using nlohmann::json;

// What the reader makes of a body that comes in pieces.
std::variant<ChatReply, BadReply> Read(std::string_view body, size_t piece = 1 << 20, bool whole = true,
                                       const ReplyLimits& limits = {}) {
  ReplyReader reader(limits);
  while (!body.empty() && reader.Feed(body.substr(0, piece)))
    body.remove_prefix(std::min(piece, body.size()));
  return reader.Finish(whole);
}

ChatReply Good(std::string_view body, size_t piece = 1 << 20) {
  auto result = Read(body, piece);
  if (auto* bad = std::get_if<BadReply>(&result)) {
    ADD_FAILURE() << bad->message;
    return {};
  }
  return std::get<ChatReply>(result);
}

BadReply Bad(std::string_view body, bool whole = true, const ReplyLimits& limits = {}) {
  auto result = Read(body, 1 << 20, whole, limits);
  if (std::holds_alternative<ChatReply>(result))
    ADD_FAILURE() << "taken for a reply: " << body.substr(0, 200);
  return std::holds_alternative<BadReply>(result) ? std::get<BadReply>(result) : BadReply{};
}

std::string Event(const json& delta, const json& finish = {}) {
  const json event = {{"choices", {{{"index", 0}, {"delta", delta}, {"finish_reason", finish}}}}};
  return "data: " + event.dump() + "\n\n";
}

const std::string kText = "größer → ∑ 漢字 🙂\nund weiter";

std::string StreamOf(const std::string& line_end = "\n") {
  std::string stream =
      ": keep alive\n\n" + Event({{"role", "assistant"}, {"content", ""}}) +
      Event({{"reasoning_content", "hm"}}) + Event({{"reasoning_content", "m"}}) + "event: x\nid: 3\n" +
      Event({{"content", kText}}) + Event({{"content", nullptr}}, "stop") +
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":9}}\n\ndata: [DONE]\n\n";
  std::string result;
  for (char c : stream) result += c == '\n' ? line_end : std::string(1, c);
  return result;
}

TEST(Sse, LinesOfAllKindsInPiecesOfAnySize) {
  for (const char* line_end : {"\n", "\r\n", "\r"}) {
    std::string stream;
    for (char c : std::string("\xef\xbb\xbf"
                              "data: a\ndata:b\ndatum: no\n: no\n\ndata\n\n\n\ndata:  c\n\ndata: end"))
      stream += c == '\n' ? line_end : std::string(1, c);
    for (size_t piece = 1; piece <= stream.size(); ++piece) {
      std::vector<std::string> events;
      SseParser parser([&](std::string_view data) { return events.emplace_back(data), true; }, 100);
      for (size_t at = 0; at < stream.size(); at += piece) EXPECT_TRUE(parser.Feed(stream.substr(at, piece)));
      parser.End();
      EXPECT_EQ(events, (std::vector<std::string>{"a\nb", "", " c", "end"})) << piece;
    }
  }
}

TEST(Sse, AnEventTooLongEndsIt) {
  int events = 0;
  SseParser parser([&](std::string_view) { return ++events, true; }, 100);
  EXPECT_TRUE(parser.Feed("data: short\n\n"));
  EXPECT_FALSE(parser.Feed("data: " + std::string(200, 'x')));
  EXPECT_FALSE(parser.Feed("\n\ndata: more\n\n"));
  parser.End();
  EXPECT_TRUE(parser.too_long());
  EXPECT_EQ(events, 1);
}

TEST(ChatReply, AStreamReadsAlikeWhereverItIsCut) {
  for (const char* line_end : {"\n", "\r\n", "\r"}) {
    const std::string stream = StreamOf(line_end);
    for (size_t piece : {1, 2, 3, 5, 7, 64, 1000}) {
      const ChatReply reply = Good(stream, piece);
      EXPECT_EQ(reply.content, kText);
      EXPECT_EQ(reply.reasoning, "hmm");
      EXPECT_EQ(reply.finish_reason, "stop");
      EXPECT_EQ(reply.prompt_tokens, 7);
      EXPECT_EQ(reply.completion_tokens, 9);
    }
  }
}

TEST(ChatReply, OneObject) {
  const ChatReply reply =
      Good(R"({"choices":[{"index":0,"finish_reason":"length","message":{"role":"assistant",
    "content":"ok","reasoning_content":"why","reasoning":"why"}}],"usage":{"prompt_tokens":1,"completion_tokens":2}})");
  EXPECT_EQ(reply.content, "ok");
  EXPECT_EQ(reply.reasoning, "why");
  EXPECT_TRUE(reply.cut_off());
  const ChatReply parts = Good(
      R"({"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}}]})");
  EXPECT_EQ(parts.content, "ab");
  EXPECT_FALSE(parts.prompt_tokens);
}

TEST(ChatReply, InvalidTextIsReplaced) {
  EXPECT_EQ(Good("{\"choices\":[{\"message\":{\"content\":\"a\xff\xc3(b\xe2\x82\"}}]}").content,
            "a\xef\xbf\xbd\xef\xbf\xbd(b\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(ChatReply, StreamsWithoutDoneEndWithAFinishReason) {
  EXPECT_EQ(Good(Event({{"content", "x"}}, "stop")).content, "x");
}

TEST(ChatReply, WhatIsNoReplySaysWhy) {
  EXPECT_NE(Bad("<html>\nlogin").message.find("it begins: <html>"), std::string::npos);
  EXPECT_NE(Bad("{\"choices\":[").message.find("no valid JSON"), std::string::npos);
  EXPECT_NE(Bad("data: nonsense\n\n").message.find("no JSON object"), std::string::npos);
  EXPECT_NE(Bad("{\"choices\":[]}").message.find("no choices"), std::string::npos);
  EXPECT_NE(Bad("{\"choices\":[{\"index\":0}]}").message.find("no choices"), std::string::npos);
  EXPECT_FALSE(Bad("<html>").may_help_to_retry);
  for (const char* odd :
       {"[1]", "null", "\x1b[31mred", "{\"choices\":{\"a\":1}}", "{\"choices\":[7,null,\"x\"]}"})
    EXPECT_EQ(Bad(odd).message.find('\x1b'), std::string::npos) << odd;
}

TEST(ChatReply, WhatBrokeOffMayBeAskedAgain) {
  for (const BadReply& bad : {Bad(Event({{"content", "x"}})), Bad(""), Bad("{\"choices\"", false),
                              Bad("data: {\"error\":{\"message\":\"overloaded\"}}\n\n")})
    EXPECT_TRUE(bad.may_help_to_retry) << bad.message;
  EXPECT_NE(Bad("data: {\"error\":{\"message\":\"overloaded\"}}\n\n").message.find("overloaded"),
            std::string::npos);
}

TEST(ChatReply, EverySizeHasALimit) {
  const ReplyLimits small{.body_bytes = 10000, .event_bytes = 500, .text_bytes = 1000, .json_bytes = 2000};
  EXPECT_NE(Bad("{\"a\":\"" + std::string(5000, 'x'), true, small).message.find("2000"), std::string::npos);
  EXPECT_NE(Bad("data: " + std::string(5000, 'x'), true, small).message.find("too long"), std::string::npos);
  std::string many, endless;
  for (int i = 0; i < 30; ++i) many += Event({{"content", std::string(50, 'x')}});
  EXPECT_NE(Bad(many, true, small).message.find("1000"), std::string::npos);
  for (int i = 0; i < 3000; ++i) endless += ": x\n\n";
  EXPECT_NE(Bad(endless, true, small).message.find("10000"), std::string::npos);
  EXPECT_NE(Bad(std::string(20000, ' '), true, small).message.find("longer"), std::string::npos);
}

TEST(ChatReply, DepthIsLimited) {
  const std::string deep(100000, '[');
  EXPECT_NE(Bad("data: {\"choices\":" + deep + "\n\n").message.find("no JSON"), std::string::npos);
  EXPECT_NE(Bad("{\"choices\":" + deep).message.find("no valid JSON"), std::string::npos);
}

TEST(ChatReply, OddTypesAreIgnored) {
  const ChatReply reply = Good(R"({"choices":[{"message":{"content":7,"reasoning":[]},"finish_reason":{}}],
    "usage":{"prompt_tokens":-1,"completion_tokens":1e300}})");
  EXPECT_EQ(reply.content, "");
  EXPECT_FALSE(reply.prompt_tokens || reply.completion_tokens);
}

TEST(RefusalText, FindsTheMessageAndKeepsTheTerminalSafe) {
  EXPECT_EQ(RefusalText(R"({"error":{"message":"no such model","code":404}})"), "no such model");
  EXPECT_EQ(RefusalText(R"({"error":"bad"})"), "bad");
  EXPECT_EQ(RefusalText(R"({"detail":"not found"})"), "not found");
  EXPECT_EQ(RefusalText("\n  <html>502</html>\nmore"), "<html>502</html>");
  EXPECT_EQ(RefusalText(""), "");
  EXPECT_LE(RefusalText("{\"error\":\"" + std::string(5000, 'x') + "\"}").size(), 400u);
  EXPECT_EQ(RefusalText("a\x1b[2Jb").find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace tritogen
