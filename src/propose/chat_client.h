// ChatClient: asks an OpenAI-compatible endpoint for chat completions, many at a time from one thread, and
// goes on asking while it makes sense: what is busy or broken is asked again, after the time that the
// endpoint names or one that grows. Whatever happens, each request ends in a reply or in one sentence.
//
// The key is sent to the endpoint and nowhere else: it is replaced in every text that comes back. Redirects
// are not followed. Not thread-safe; no thread of its own outlives a call.
#pragma once

#include <chrono>
#include <deque>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "base/splitmix.h"
#include "propose/chat_model.h"
#include "propose/cost_log.h"
#include "propose/curl.h"

namespace tritogen {

struct ChatClientOptions {
  std::string url;  // "https://host/v1"
  std::string model;
  std::string key;           // empty: none is sent
  std::string key_variable;  // where it came from, for messages
  std::string ca_file;       // certificates to trust; empty: the system's
  int concurrency = 4;       // requests on their way at once
  int retries = 5;           // after the first try
  // Before the first retry, twice as long before each later one, up to a minute.
  double retry_wait_seconds = 1;
  double connect_seconds = 20;
  double idle_seconds = 300;    // without a byte: a model may think for so long before it writes
  double total_seconds = 1800;  // of one request, with its retries
  bool stream = true;
  nlohmann::json extra = nlohmann::json::object();  // more members of the request's body: "temperature", …
  ReplyLimits limits;
  TokenPrices prices;
  std::string cost_log;  // a file; empty: none
};

class ChatClient : public ChatModel {
 public:
  // Throws UserError for an address that is none, a key that cannot be sent, a log that cannot be written, or
  // where there is no libcurl.
  explicit ChatClient(ChatClientOptions options);
  ~ChatClient() override;
  ChatClient(const ChatClient&) = delete;

  const std::string& model() const override { return options_.model; }
  // A request starts, inside of Next, when one of the places is free. Seeds are not sent.
  void Submit(std::string id, const ChatRequest& request) override;
  std::optional<Done> Next(double timeout_seconds) override;
  int unfinished() const override;
  void Cancel() override;
  // Why the cost log is no longer written; a full disk there loses no answers.
  std::string TakeProblem() override { return std::exchange(log_problem_, {}); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Job;
  // How one try ended when it did not end in a reply.
  struct Failed {
    ChatFailure::Kind kind;
    std::string what;
    bool again = false;       // another try may help
    double wait_seconds = 0;  // the endpoint asked to wait so long
    bool all = false;         // no other request can fare better
  };

  static size_t OnBytes(char* bytes, size_t size, size_t count, void* job);
  void StartWaiting();
  void Start(std::unique_ptr<Job> job);
  void EndLate();  // what hangs, and what has used up its time
  void Collect();
  void EndTry(std::unique_ptr<Job> job, CURLcode code);
  std::variant<ChatReply, Failed> Outcome(Job* job, CURLcode code);
  Failed Refusal(Job* job, long status);
  Failed NoTransfer(const Job& job, CURLcode code) const;
  void CountUnanswered(const Job& job, Failed* failed);
  void Settle(std::unique_ptr<Job> job, ChatResult result);
  void Log(const Job& job, const ChatResult& result);
  std::unique_ptr<Job> Take(Job* running);
  std::string Redacted(std::string text) const;
  std::string Sentence(std::string_view what) const;
  static double SecondsToWait(const Clock::time_point& until) {
    return std::chrono::duration<double>(until - Clock::now()).count();
  }

  ChatClientOptions options_;
  std::string address_;
  const Curl& curl_;
  CurlMulti multi_;
  CurlList headers_;
  std::optional<CostLog> log_;
  std::string log_problem_;
  SplitMix jitter_;
  std::list<std::unique_ptr<Job>> waiting_, running_;
  std::deque<Done> done_;
  Clock::time_point pause_until_{};     // the endpoint asked everybody to wait
  std::optional<ChatFailure> refusal_;  // what no request can overcome
  bool ever_answered_ = false;
  std::set<size_t> unanswered_;  // hashes of questions since the last reply
};

}  // namespace tritogen
