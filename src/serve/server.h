// The server of a language model: OpenAI's endpoints over a Generator (docs/serve.md).
//
// A POST's life: header checked (OnHeader) → body read (http_server) → JSON and tokens, on a worker's thread
// → submitted → chunks through the inbox → reply → client. Everything but the second and third step happens
// on the event loop's thread, which owns all state.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "serve/call.h"
#include "serve/http_server.h"
#include "serve/inbox.h"
#include "serve/metrics.h"
#include "serve/reply.h"
#include "serve/workers.h"

namespace tritogen::serve {

struct ServerOptions {
  HttpOptions http;
  std::string api_key;       // asked for under /v1; empty: no key is needed
  int max_queue = 1024;      // sequences beyond those that the engine runs at once
  double stop_seconds = 30;  // for what runs when the server is told to stop
};

class Server : private HttpHandler {
 public:
  // Listens. Throws UserError when it cannot. Model and generator outlive the server.
  Server(const ServerOptions& options, const ServedModel& model, Generator* generator);
  ~Server() override;

  // Serves until SIGINT or SIGTERM, then until all has been answered, or stop_seconds are over; a second
  // signal ends it at once. True when nothing was cut off.
  bool Run();

  uint16_t port() const { return http_.port(); }

 private:
  using Clock = Inbox::Clock;
  // A POST that has not been answered in full.
  struct OpenCall {
    std::string endpoint;
    Clock::time_point arrived;
    std::optional<Reply> reply;  // none while the body is read
    bool stream = false;
    std::vector<RequestId> requests;                            // of the generator, one a prompt
    std::vector<std::optional<Clock::time_point>> last_tokens;  // of each choice
  };

  std::optional<HttpResponse> OnHeader(const HttpRequest& head) override;
  void OnRequest(ExchangeId id, HttpRequest request) override;
  void OnGone(ExchangeId id) override;
  HttpResponse OnBadRequest(int status, const std::string& why) override;

  void CheckHead(const HttpRequest& head) const;
  HttpResponse Get(const std::string& path) const;
  void Prepare(ExchangeId id, const std::string& endpoint, const std::string& body, Encoder* encoder);
  void Submit(ExchangeId id, Call call);
  void ReadInbox();
  void Take(const Inbox::Item& item);
  void CountTokens(OpenCall* open, size_t choice, const Inbox::Item& item);
  void Finish(ExchangeId id, OpenCall* open);
  void Fail(ExchangeId id, const ApiError& error);  // ends a call
  void Forget(ExchangeId id);                       // cancels what still runs of it
  void CheckRoom(int64_t sequences) const;
  HttpResponse Refusal(const ApiError& error) const;
  void OnSignal();
  int32_t MostChoices() const;

  ServerOptions options_;
  ServedModel model_;
  Generator* generator_;
  HttpServer http_;
  Metrics metrics_;
  std::unordered_map<ExchangeId, OpenCall> calls_;
  int64_t preparing_ = 0;       // calls whose bodies are read
  int64_t open_sequences_ = 0;  // submitted and not ended, those of clients that left included
  bool stopping_ = false, cut_off_ = false;
  std::string engine_failure_;    // once it has failed, it takes nothing more
  std::shared_ptr<Inbox> inbox_;  // shared with the generator's callbacks, which may come later than our end
  Workers workers_;               // its end comes first: jobs use the rest
};

}  // namespace tritogen::serve
