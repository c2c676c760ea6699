#include "propose/chat_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/temp_dir.h"
#include "propose/test_endpoint.h"

namespace tritogen {
namespace {

using nlohmann::json;
using Kind = ChatFailure::Kind;

constexpr char kKey[] = "sk-secret-4711";
const std::string kGood =
    R"({"choices":[{"index":0,"message":{"content":"fine"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":200}})";
const std::string kStream =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"grö\"}}]}\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ßer\"},\"finish_reason\":\"stop\"}]}\n\ndata: "
    "[DONE]\n\n";

ChatClientOptions OptionsFor(const TestEndpoint& endpoint) {
  return {.url = endpoint.url(),
          .model = "m",
          .key = kKey,
          .key_variable = "SOME_KEY",
          .retries = 3,
          .retry_wait_seconds = 0.01,
          .idle_seconds = 5,
          .total_seconds = 20};
}

std::vector<ChatResult> Ask(ChatClient* client, int count = 1) {
  return client->Ask(std::vector<ChatRequest>(count, {{{"user", "hello"}}, "test"}));
}

ChatReply Reply(const ChatResult& result) {
  if (const auto* failure = std::get_if<ChatFailure>(&result)) {
    ADD_FAILURE() << failure->message;
    return {};
  }
  return std::get<ChatReply>(result);
}

// One request that must fail; its message is one line and never has the key.
ChatFailure Failure(std::vector<TestEndpoint::Answer> script, size_t requests,
                    const ChatClientOptions& changed = {}) {
  TestEndpoint endpoint(std::move(script));
  ChatClientOptions options = OptionsFor(endpoint);
  if (changed.retries != ChatClientOptions{}.retries) options.retries = changed.retries;
  if (changed.idle_seconds != ChatClientOptions{}.idle_seconds) options.idle_seconds = changed.idle_seconds;
  if (changed.total_seconds != ChatClientOptions{}.total_seconds)
    options.total_seconds = changed.total_seconds;
  ChatClient client(options);
  const auto results = Ask(&client);
  EXPECT_EQ(endpoint.requests().size(), requests);
  if (std::holds_alternative<ChatReply>(results[0])) {
    ADD_FAILURE() << "a reply: " << std::get<ChatReply>(results[0]).content;
    return {};
  }
  const ChatFailure failure = std::get<ChatFailure>(results[0]);
  EXPECT_EQ(failure.message.find(kKey), std::string::npos) << failure.message;
  EXPECT_EQ(failure.message.find('\n'), std::string::npos) << failure.message;
  EXPECT_EQ(failure.message.find(endpoint.url()), 0u) << failure.message;
  return failure;
}

bool Has(const ChatFailure& failure, std::string_view part) {
  return failure.message.find(part) != std::string::npos;
}

TEST(ChatClient, AsksAsTheInterfaceWantsIt) {
  TestEndpoint endpoint({TestEndpoint::Respond("200 OK", kGood)});
  ChatClientOptions options = OptionsFor(endpoint);
  options.extra = {{"temperature", 0.5}};
  ChatClient client(options);
  EXPECT_EQ(Reply(Ask(&client)[0]).content, "fine");
  const std::string request = endpoint.requests()[0];
  EXPECT_EQ(request.find("POST /v1/chat/completions HTTP/1.1\r\n"), 0u);
  EXPECT_NE(request.find("Authorization: Bearer sk-secret-4711\r\n"), std::string::npos);
  const json body = json::parse(request.substr(request.find("\r\n\r\n") + 4));
  EXPECT_EQ(body.at("model"), "m");
  EXPECT_EQ(body.at("temperature"), 0.5);
  EXPECT_EQ(body.at("stream"), true);
  EXPECT_EQ(body.at("messages"), json::parse(R"([{"role":"user","content":"hello"}])"));
}

TEST(ChatClient, StreamsCutAnywhere) {
  for (size_t piece : {1, 3, 1000}) {
    TestEndpoint endpoint({TestEndpoint::Stream(kStream, piece)});
    ChatClient client(OptionsFor(endpoint));
    EXPECT_EQ(Reply(Ask(&client)[0]).content, "größer");
  }
}

TEST(ChatClient, RetriesWhatMayPass) {
  for (const char* status :
       {"429 Too Many Requests", "500 Oops", "502 Bad Gateway", "503 Busy", "529 Overloaded"}) {
    TestEndpoint endpoint({TestEndpoint::Respond(status, "{}"), TestEndpoint::Respond("200 OK", kGood)});
    ChatClient client(OptionsFor(endpoint));
    EXPECT_EQ(Reply(Ask(&client)[0]).retries, 1) << status;
  }
  const std::vector<TestEndpoint::Answer> breaks = {
      TestEndpoint::Reset(), TestEndpoint::Stream(kStream.substr(0, 90)), TestEndpoint::Stream("")};
  for (const auto& broken : breaks) {
    TestEndpoint endpoint({broken, TestEndpoint::Stream(kStream)});
    ChatClient client(OptionsFor(endpoint));
    EXPECT_EQ(Reply(Ask(&client)[0]).content, "größer");
    EXPECT_EQ(endpoint.requests().size(), 2u);
  }
}

TEST(ChatClient, RetryAfterHoldsEverybodyBack) {
  TestEndpoint endpoint({TestEndpoint::Respond("429 Slow", "{}", "Retry-After: 1\r\n"),
                         TestEndpoint::Respond("200 OK", kGood)});
  ChatClientOptions options = OptionsFor(endpoint);
  options.concurrency = 1;
  ChatClient client(options);
  const auto start = std::chrono::steady_clock::now();
  for (const ChatResult& result : Ask(&client, 3)) Reply(result);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1000));
}

TEST(ChatClient, ARetryAfterLongerThanTheTimeIsNotWaitedFor) {
  const auto failure = Failure({TestEndpoint::Respond("429 Slow", "{}", "Retry-After: 9999\r\n")}, 1);
  EXPECT_TRUE(Has(failure, "wait 9999 s")) << failure.message;
}

TEST(ChatClient, DoesNotRetryWhatCannotPass) {
  struct Case {
    const char *status, *word;
  };
  for (const auto& [status, word] : {Case{"400 Bad", "HTTP 400: why"}, Case{"401 No", "SOME_KEY"},
                                     Case{"404 None", "the model m"}, Case{"204 Nothing", "no answer"}}) {
    const auto failure = Failure(
        {TestEndpoint::Respond(status, std::string("{\"error\":{\"message\":\"why ") + kKey + "\"}}")}, 1);
    EXPECT_TRUE(Has(failure, word)) << failure.message;
  }
  const auto redirect =
      Failure({TestEndpoint::Respond("302 Found", "", "Location: http://127.0.0.1:1/other\r\n")}, 1);
  EXPECT_TRUE(redirect.kind == Kind::kRefused && Has(redirect, "http://127.0.0.1:1/other"))
      << redirect.message;
}

TEST(ChatClient, ARefusalOfTheKeyEndsAllRequestsAtOnce) {
  TestEndpoint endpoint({TestEndpoint::Respond("401 No", "{}")});
  ChatClientOptions options = OptionsFor(endpoint);
  options.concurrency = 2;
  ChatClient client(options);
  for (const ChatResult& result : Ask(&client, 50)) EXPECT_TRUE(std::holds_alternative<ChatFailure>(result));
  EXPECT_LE(endpoint.requests().size(), 4u);
}

TEST(ChatClient, GivesUpAfterTheLastRetry) {
  const auto failure = Failure({TestEndpoint::Respond("503 Busy", "{\"error\":\"full\"}")}, 4);
  EXPECT_TRUE(failure.kind == Kind::kBusy && Has(failure, "HTTP 503: full") && Has(failure, "4 tries"))
      << failure.message;
}

TEST(ChatClient, GarbageIsNamedAndNotAskedForAgain) {
  EXPECT_TRUE(Has(Failure({TestEndpoint::Respond("200 OK", "<html>login</html>")}, 1), "<html>login"));
  EXPECT_TRUE(Has(Failure({TestEndpoint::Respond("200 OK", "{\"choices\":")}, 1), "no valid JSON"));
}

TEST(ChatClient, GarbageForEveryQuestionEndsAllRequests) {
  TestEndpoint endpoint({TestEndpoint::Respond("200 OK", "<html>login</html>")});
  ChatClientOptions options = OptionsFor(endpoint);
  options.concurrency = 1;
  ChatClient client(options);
  std::vector<ChatRequest> questions;
  for (int i = 0; i < 20; ++i) questions.push_back({.messages = {{"user", std::to_string(i)}}});
  const auto results = client.Ask(questions);
  const auto& first = std::get<ChatFailure>(results[0]);
  EXPECT_EQ(first.kind, Kind::kBadReply) << "one question alone may be to blame";
  for (size_t i = 1; i < results.size(); ++i)
    EXPECT_EQ(std::get<ChatFailure>(results[i]).kind, Kind::kRefused);
  EXPECT_TRUE(Has(std::get<ChatFailure>(results[19]), "<html>login</html>"));
  EXPECT_EQ(endpoint.requests().size(), 2u);
}

TEST(ChatClient, QuestionsThatAreTooLongAreNoReasonToStop) {
  std::vector<TestEndpoint::Answer> answers(20, TestEndpoint::Respond("400 Bad", "{\"error\":\"too long\"}"));
  answers.push_back(TestEndpoint::Respond("200 OK", kGood));
  TestEndpoint endpoint(answers);
  ChatClientOptions options = OptionsFor(endpoint);
  options.concurrency = 1;
  ChatClient client(options);
  std::vector<ChatRequest> questions;
  for (int i = 0; i < 21; ++i) questions.push_back({.messages = {{"user", std::to_string(i)}}});
  const auto results = client.Ask(questions);
  EXPECT_EQ(std::get<ChatFailure>(results[19]).kind, Kind::kBadRequest);
  EXPECT_EQ(Reply(results[20]).content, "fine");
}

TEST(ChatClient, WhatHangsIsLeft) {
  TestEndpoint endpoint;
  for (const char* first :
       {"", "HTTP/1.1 200 OK\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"}) {
    for (int i = 0; i < 2; ++i) endpoint.Then(endpoint.Hang(first));
    ChatClientOptions options = OptionsFor(endpoint);
    options.retries = 0;
    options.idle_seconds = 0.3;
    ChatClient client(options);
    const ChatFailure idle = std::get<ChatFailure>(Ask(&client)[0]);
    EXPECT_TRUE(idle.kind == Kind::kTimeout && Has(idle, "nothing for 0.3 s")) << idle.message;
    options.idle_seconds = 5;
    options.total_seconds = 0.4;
    options.retries = 50;
    ChatClient hasty(options);
    const ChatFailure total = std::get<ChatFailure>(Ask(&hasty)[0]);
    EXPECT_TRUE(total.kind == Kind::kTimeout && Has(total, "within 0.4 s")) << total.message;
  }
}

TEST(ChatClient, ABodyWithoutEndIsCut) {
  const auto failure = Failure({[](int connection, const std::string&) {
                                 TestEndpoint::Send(connection, "HTTP/1.1 200 OK\r\n\r\n{\"choices\": \"");
                                 const std::string block(1 << 20, 'x');
                                 for (int i = 0; i < 100; ++i) TestEndpoint::Send(connection, block);
                               }},
                               1);
  EXPECT_TRUE(failure.kind == Kind::kBadReply && Has(failure, "longer than")) << failure.message;
}

TEST(ChatClient, NeverMoreAtOnceThanTheLimit) {
  std::atomic<int> at_once = 0, most = 0;
  TestEndpoint endpoint({[&](int connection, const std::string& request) {
    const int now = ++at_once;
    for (int before = most; before < now && !most.compare_exchange_weak(before, now);) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    --at_once;  // before the answer: with it the client may begin the next request
    TestEndpoint::Respond("200 OK", kGood)(connection, request);
  }});
  ChatClientOptions options = OptionsFor(endpoint);
  options.concurrency = 3;
  ChatClient client(options);
  for (const ChatResult& result : Ask(&client, 20)) EXPECT_EQ(Reply(result).content, "fine");
  EXPECT_EQ(endpoint.requests().size(), 20u);
  EXPECT_LE(most, 3);
  EXPECT_GE(most, 2);
}

TEST(ChatClient, CancelEndsWhatRunsAndWhatWaits) {
  TestEndpoint endpoint;
  endpoint.Then(endpoint.Hang());
  const auto start = std::chrono::steady_clock::now();
  ChatClient client(OptionsFor(endpoint));
  client.give_up = [&] { return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(100); };
  const auto results = Ask(&client, 9);
  for (const ChatResult& result : results) EXPECT_EQ(std::get<ChatFailure>(result).kind, Kind::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
}

TEST(ChatClient, AnAddressWhereNobodyIsSaysSoAtOnce) {
  ChatClientOptions options{.url = "http://127.0.0.1:1/v1", .model = "m", .retry_wait_seconds = 10};
  ChatClient client(options);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(std::get<ChatFailure>(Ask(&client, 3)[2]).kind, Kind::kBroken);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(ChatClient, RefusesAddressesAndKeysThatCannotBe) {
  for (const char* url : {"", "host", "ftp://host/v1", "file:///etc/passwd", "http://user:secret@host/v1",
                          "http://host/v1?key=1", "http://host/v1#x", "http://ho st/", "http://"})
    EXPECT_THROW(ChatClient({.url = url, .model = "m"}), UserError) << url;
  try {
    ChatClient({.url = "https://user:secret@host/v1", .model = "m"});
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos);
  }
  EXPECT_THROW(ChatClient({.url = "http://host/v1"}), UserError);
  for (const char* key : {"two words", "line\r\nHost: evil", "caf\xc3\xa9"}) {
    try {
      ChatClient({.url = "http://host/v1", .model = "m", .key = key, .key_variable = "SOME_KEY"});
      ADD_FAILURE() << key;
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()).find(key), std::string::npos);
    }
  }
  EXPECT_EQ(ChatAddress("https://host/v1/"), "https://host/v1/chat/completions");
  EXPECT_EQ(ChatAddress("https://host/v1/chat/completions"), "https://host/v1/chat/completions");
}

TEST(CostLog, OneWholeLineForEachRequestThatWasSent) {
  const TempDir folder;
  const auto path = folder.path() / "cost.jsonl";
  std::ofstream(path) << "{\"cut\": \"of";  // what an earlier run left when the machine died
  TestEndpoint endpoint({TestEndpoint::Respond("500 Oops", "{}"), TestEndpoint::Respond("200 OK", kGood),
                         TestEndpoint::Respond("400 Bad", std::string("{\"error\":\"") + kKey + "\"}")});
  ChatClientOptions options = OptionsFor(endpoint);
  options.concurrency = 1;
  options.cost_log = path.string();
  options.prices = {2.0, 10.0};
  ChatClient client(options);
  Reply(Ask(&client)[0]);
  Ask(&client);
  const std::string text = ReadFile(path);
  EXPECT_EQ(text.find(kKey), std::string::npos);
  std::istringstream lines(text);
  std::string cut, good, bad, none;
  std::getline(lines, cut);
  std::getline(lines, good);
  std::getline(lines, bad);
  EXPECT_FALSE(std::getline(lines, none));
  const json first = json::parse(good), second = json::parse(bad);
  EXPECT_EQ(first.at("prompt_tokens"), 1000);
  EXPECT_DOUBLE_EQ(first.at("dollars"), 1000 * 2e-6 + 200 * 10e-6);
  EXPECT_EQ(first.at("retries"), 1);
  EXPECT_EQ(first.at("purpose"), "test");
  EXPECT_TRUE(first.at("failure").is_null());
  EXPECT_TRUE(second.at("prompt_tokens").is_null());
  EXPECT_NE(second.at("failure").get<std::string>().find("HTTP 400"), std::string::npos);
}

TEST(CostLog, AFullDiskLosesNoAnswer) {
  TestEndpoint endpoint({TestEndpoint::Respond("200 OK", kGood)});
  ChatClientOptions options = OptionsFor(endpoint);
  options.cost_log = "/dev/full";
  ChatClient client(options);
  EXPECT_EQ(Reply(Ask(&client)[0]).content, "fine");
  EXPECT_NE(client.TakeProblem().find("/dev/full"), std::string::npos);
  EXPECT_EQ(client.TakeProblem(), "");
  options.cost_log = "/no/such/folder/log";
  EXPECT_THROW(ChatClient{options}, UserError);
}

}  // namespace
}  // namespace tritogen
