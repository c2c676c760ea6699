// HTTP/1.1 for one handler: an event loop in one thread, limits on everything that a client sends or does not
// read. Knows nothing of what is served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tritogen::serve {

struct HttpOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8000;                  // 0: any that is free
  size_t max_body = size_t{8} << 20;     // bytes; longer ones are refused with 413, unread
  size_t max_header = size_t{16} << 10;  // bytes, request line included; longer ones: 431
  // Bytes of a stream that a client may be behind. More of them, and none taken for a second: it is given up.
  size_t max_unsent = size_t{1} << 20;
  int max_connections = 2048;                     // more wait to be accepted
  double idle_seconds = 75;                       // between requests of a connection
  double header_seconds = 10, body_seconds = 60;  // for the whole of each, however slowly it drips
  double write_seconds = 30;                      // for what was ready to be sent at one time
};

struct HttpRequest {
  std::string method, path;                 // path: without a query, as it was sent
  std::string authorization, content_type;  // values of headers, "" where absent
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string body, content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};  // more of them
};

using ExchangeId = uint64_t;  // of one request and its answer; never used twice

// Called on the loop's thread.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // The header is there, the body is not: an answer here spares reading it.
  virtual std::optional<HttpResponse> OnHeader(const HttpRequest& head) = 0;
  // To be answered by Respond, or by Begin, Write … and End; now or later.
  virtual void OnRequest(ExchangeId id, HttpRequest request) = 0;
  // The client left before it had its answer, or does not read. What is sent to `id` later is dropped.
  virtual void OnGone(ExchangeId id) = 0;
  // The answer to what is no request, or a too large one.
  virtual HttpResponse OnBadRequest(int status, const std::string& why) = 0;
};

class HttpServer {
 public:
  // Listens. Throws UserError when it cannot. The handler outlives the server.
  HttpServer(const HttpOptions& options, HttpHandler* handler);
  ~HttpServer();

  // The loop. Returns after Stop, or after Drain when each answer has been sent.
  void Run();

  // Thread-safe: calls `function` on the loop's thread, in the order of the calls.
  void Post(std::function<void()> function);

  // On the loop's thread only.
  void Respond(ExchangeId id, const HttpResponse& response);
  void Begin(ExchangeId id, const HttpResponse& head);  // its body is the first part
  void Write(ExchangeId id, std::string_view bytes);
  void End(ExchangeId id);
  void After(double seconds, std::function<void()> function);
  void OnSignals(std::initializer_list<int> signals, std::function<void()> function);
  void Drain();  // idle connections are closed, others after their answers
  void Stop();
  int connections() const;
  uint16_t port() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tritogen::serve
