#include "serve/http_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"

namespace tritogen::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Parser = http::request_parser<http::string_body>;

constexpr auto kLookAfterClient =
    std::chrono::milliseconds(200);  // how often we ask whether it is still there
constexpr auto kPatience = std::chrono::seconds(1);
constexpr double kLingerSeconds = 5;
constexpr int kSendBuffer = 256 << 10;  // bytes in the kernel: what a client does not read is ours to bound
constexpr size_t kReadAnyway = size_t{64} << 10;  // a refused body so short is read, and the connection kept

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

std::string Value(const Parser& parser, http::field field) {
  return std::string(parser.get()[field]);
}

HttpRequest Head(const Parser& parser) {
  const std::string target(parser.get().target());
  return {.method = std::string(parser.get().method_string()),
          .path = target.substr(0, target.find_first_of("?#")),
          .authorization = Value(parser, http::field::authorization),
          .content_type = Value(parser, http::field::content_type)};
}

// The status for what the parser refused; 0: there is nobody to answer.
int StatusOf(error_code error) {
  if (error == http::error::header_limit) return 431;
  if (error == http::error::body_limit) return 413;
  if (error == http::error::end_of_stream || error == http::error::partial_message) return 0;
  return error.category() == http::make_error_code(http::error::bad_version).category() ? 400 : 0;
}

}  // namespace

struct HttpServer::Impl {
  // One client. Its coroutine (Serve) owns it.
  struct Connection {
    explicit Connection(tcp::socket socket) : stream(std::move(socket)), wake(stream.get_executor()) {}

    beast::tcp_stream stream;
    beast::flat_buffer buffer;  // what was read and belongs to the next request
    asio::steady_timer wake;    // cancelled when there is something to send

    // The exchange, from the request's end to the last byte of its answer:
    ExchangeId id = 0;                                                     // 0: none
    bool keep_alive = false, chunks_allowed = false, body_wanted = false;  // what this client understands
    std::string unsent;
    std::optional<Clock::time_point> writing_since;
    bool chunked = false, ended = false, broken = false;
  };

  Impl(const HttpOptions& o, HttpHandler* h) : options(o), handler(h), acceptor(io), room(io), signals(io) {
    error_code error;
    const auto address = asio::ip::make_address(options.host, error);
    if (error) {
      throw UserError(
          fmt::format("--host {}: expected an IP address such as 127.0.0.1 or 0.0.0.0", options.host));
    }
    const tcp::endpoint endpoint(address, options.port);
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      throw UserError(fmt::format("cannot listen at {}, port {}: {}; --port picks another", options.host,
                                  options.port, error.message()));
    }
    asio::co_spawn(io, Accept(), asio::detached);
  }

  // ---- connections

  asio::awaitable<void> Accept() {
    for (;;) {
      error_code error;
      tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
      if (error) {  // no descriptors left, or the client left
        co_await Pause(room, std::chrono::milliseconds(50));
        continue;
      }
      asio::co_spawn(io, Serve(std::move(socket)), asio::detached);
      // The last one waits here, and those behind it in the kernel.
      while (static_cast<int>(connections.size()) >= options.max_connections) {
        co_await Pause(room, std::chrono::milliseconds(50));
      }
    }
  }

  static asio::awaitable<void> Pause(asio::steady_timer& timer, std::chrono::milliseconds time) {
    error_code ignored;
    timer.expires_after(time);
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

  asio::awaitable<void> Serve(tcp::socket socket) {
    Connection client(std::move(socket));
    const Listing listing(this, &client);
    error_code ignored;
    client.stream.socket().set_option(tcp::no_delay(true), ignored);
    client.stream.socket().set_option(asio::socket_base::send_buffer_size(kSendBuffer), ignored);
    for (bool go_on = true; go_on;) go_on = co_await ServeOne(client);
    if (!client.broken) co_await Linger(client);
  }

  // One request and its answer; whether the connection goes on.
  asio::awaitable<bool> ServeOne(Connection& client) {
    const bool begun = co_await AwaitRequest(client);
    if (!begun) co_return false;
    Parser parser;
    parser.header_limit(static_cast<uint32_t>(options.max_header));
    parser.body_limit(options.max_body);
    error_code error;
    client.stream.expires_after(Milliseconds(options.header_seconds));
    co_await http::async_read_header(client.stream, client.buffer, parser,
                                     asio::redirect_error(asio::use_awaitable, error));
    std::optional<HttpResponse> refusal;
    if (!error) {
      refusal = handler->OnHeader(Head(parser));
      const bool read = !refusal || (!parser.chunked() && parser.content_length().value_or(0) <= kReadAnyway);
      if (read) error = co_await ReadBody(client, parser);
    }
    const int status = error ? StatusOf(error) : 0;
    if (error && status == 0) co_return false;
    if (error) refusal = handler->OnBadRequest(status, error.message());
    co_return co_await Answer(client, parser, std::move(refusal));
  }

  // Waits for a request's first byte.
  asio::awaitable<bool> AwaitRequest(Connection& client) {
    if (client.buffer.size() > 0) co_return true;
    error_code error;
    client.stream.expires_after(Milliseconds(options.idle_seconds));
    const size_t bytes = co_await client.stream.async_read_some(
        client.buffer.prepare(4096), asio::redirect_error(asio::use_awaitable, error));
    client.buffer.commit(bytes);
    co_return !error;
  }

  asio::awaitable<error_code> ReadBody(Connection& client, Parser& parser) {
    error_code error;
    client.stream.expires_after(Milliseconds(options.body_seconds));
    if (beast::iequals(parser.get()[http::field::expect], "100-continue") && !parser.is_done()) {
      const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await asio::async_write(client.stream, asio::buffer(go_on),
                                 asio::redirect_error(asio::use_awaitable, error));
    }
    if (!error && !parser.is_done()) {
      co_await http::async_read(client.stream, client.buffer, parser,
                                asio::redirect_error(asio::use_awaitable, error));
    }
    co_return error;
  }

  asio::awaitable<bool> Answer(Connection& client, Parser& parser, std::optional<HttpResponse> refusal) {
    client.keep_alive = parser.is_done() && parser.keep_alive() && !draining;
    client.chunks_allowed = parser.get().version() >= 11;
    client.body_wanted = parser.get().method() != http::verb::head;
    client.chunked = client.ended = false;
    const ExchangeId id = client.id = next_id++;
    exchanges[id] = &client;
    if (refusal) {
      Respond(id, *refusal);
    } else {
      HttpRequest request = Head(parser);
      request.body = std::move(parser.get().body());
      handler->OnRequest(id, std::move(request));
    }
    const bool sent = co_await Send(client);
    exchanges.erase(id);
    client.id = 0;
    if (!sent) GiveUp(&client);
    if (!sent && !refusal) handler->OnGone(id);
    if (draining && exchanges.empty()) io.stop();
    co_return sent&& client.keep_alive && !draining;
  }

  // Sends what there is, as it comes, until the answer has ended; false when the client is lost.
  asio::awaitable<bool> Send(Connection& client) {
    error_code error;
    while (!client.broken && !(client.ended && client.unsent.empty())) {
      if (client.unsent.empty()) {
        if (HasLeft(client)) co_return false;
        co_await Pause(client.wake, kLookAfterClient);
        continue;
      }
      const std::string bytes = std::exchange(client.unsent, "");
      client.stream.expires_after(Milliseconds(options.write_seconds));
      client.writing_since = Clock::now();
      co_await asio::async_write(client.stream, asio::buffer(bytes),
                                 asio::redirect_error(asio::use_awaitable, error));
      client.writing_since.reset();
      if (error) co_return false;
    }
    co_return !client.broken;
  }

  // It closed its side, or the connection broke. A client that closes half and reads on counts as gone, too.
  static bool HasLeft(Connection& client) {
    pollfd socket{.fd = client.stream.socket().native_handle(), .events = POLLRDHUP};
    return poll(&socket, 1, 0) > 0;
  }

  // Closes our side, and reads what is still under way: closing with unread bytes would reset the connection
  // before the client has read its answer.
  asio::awaitable<void> Linger(Connection& client) {
    error_code error;
    client.stream.socket().shutdown(tcp::socket::shutdown_send, error);
    client.buffer.clear();
    client.stream.expires_after(Milliseconds(kLingerSeconds));
    while (!error && !draining) {
      co_await client.stream.async_read_some(client.buffer.prepare(16 << 10),
                                             asio::redirect_error(asio::use_awaitable, error));
    }
  }

  // ---- answers

  // Adds what comes before a body. `length` is missing for one that comes in parts.
  void AddHead(Connection* client, const HttpResponse& response, std::optional<size_t> length) {
    client->chunked = !length && client->chunks_allowed;
    client->keep_alive = client->keep_alive && (length || client->chunked) && !draining;
    std::string& out = client->unsent;
    const std::string reason(http::obsolete_reason(http::int_to_status(response.status)));
    out +=
        fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n", response.status, reason, response.content_type);
    for (const auto& [name, value] : response.headers) out += fmt::format("{}: {}\r\n", name, value);
    if (length) out += fmt::format("Content-Length: {}\r\n", *length);
    if (client->chunked) out += "Transfer-Encoding: chunked\r\n";
    out += client->keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  }

  void AddPart(Connection* client, std::string_view bytes) {
    if (bytes.empty() || !client->body_wanted) return;
    std::string& out = client->unsent;
    if (client->chunked) out += fmt::format("{:x}\r\n", bytes.size());
    out += bytes;
    if (client->chunked) out += "\r\n";
  }

  void Respond(ExchangeId id, const HttpResponse& response) {
    Connection* client = Find(id);
    if (client == nullptr) return;
    AddHead(client, response, response.body.size());
    if (client->body_wanted) client->unsent += response.body;
    client->ended = true;
    client->wake.cancel();
  }

  Connection* Find(ExchangeId id) {
    const auto found = exchanges.find(id);
    return found == exchanges.end() || found->second->broken ? nullptr : found->second;
  }

  // Too much is unsent, and not because we were busy with others.
  bool IsDeaf(const Connection& client) const {
    return client.unsent.size() > options.max_unsent && client.writing_since &&
           Clock::now() - *client.writing_since > kPatience;
  }

  void GiveUp(Connection* client) {
    error_code ignored;
    client->broken = true;
    client->stream.socket().set_option(asio::socket_base::linger(true, 0),
                                       ignored);  // drop what it did not take
    client->stream.close();                       // ends a write that waits
    client->wake.cancel();
  }

  // Makes a connection known while it lives.
  struct Listing {
    Listing(Impl* impl, Connection* client) : impl(impl), client(client) { impl->connections.insert(client); }
    ~Listing() {
      impl->connections.erase(client);
      if (client->id != 0) impl->exchanges.erase(client->id);
    }
    Impl* impl;
    Connection* client;
  };

  void AwaitSignal(std::function<void()> function) {
    signals.async_wait([this, function = std::move(function)](error_code error, int) {
      if (error) return;
      AwaitSignal(function);
      function();
    });
  }

  HttpOptions options;
  HttpHandler* handler;
  ExchangeId next_id = 1;
  bool draining = false;
  std::unordered_set<Connection*> connections;
  std::unordered_map<ExchangeId, Connection*> exchanges;  // open ones
  asio::io_context io{1};  // its end ends the coroutines, which use what stands above
  tcp::acceptor acceptor;
  asio::steady_timer room;
  asio::signal_set signals;
};

HttpServer::HttpServer(const HttpOptions& options, HttpHandler* handler)
    : impl_(std::make_unique<Impl>(options, handler)) {}

HttpServer::~HttpServer() = default;

void HttpServer::Run() {
  const auto keep_running = asio::make_work_guard(impl_->io);
  impl_->io.run();
}

void HttpServer::Post(std::function<void()> function) {
  asio::post(impl_->io, std::move(function));
}

void HttpServer::Respond(ExchangeId id, const HttpResponse& response) {
  impl_->Respond(id, response);
}

void HttpServer::Begin(ExchangeId id, const HttpResponse& head) {
  Impl::Connection* client = impl_->Find(id);
  if (client == nullptr) return;
  impl_->AddHead(client, head, std::nullopt);
  impl_->AddPart(client, head.body);
  client->wake.cancel();
}

void HttpServer::Write(ExchangeId id, std::string_view bytes) {
  Impl::Connection* client = impl_->Find(id);
  if (client == nullptr) return;
  impl_->AddPart(client, bytes);
  if (impl_->IsDeaf(*client)) return impl_->GiveUp(client);
  client->wake.cancel();
}

void HttpServer::End(ExchangeId id) {
  Impl::Connection* client = impl_->Find(id);
  if (client == nullptr) return;
  if (client->chunked && client->body_wanted) client->unsent += "0\r\n\r\n";
  client->ended = true;
  client->wake.cancel();
}

void HttpServer::After(double seconds, std::function<void()> function) {
  auto timer = std::make_shared<asio::steady_timer>(impl_->io, Milliseconds(seconds));
  timer->async_wait([timer, function = std::move(function)](error_code error) {
    if (!error) function();
  });
}

void HttpServer::OnSignals(std::initializer_list<int> signals, std::function<void()> function) {
  for (const int signal : signals) impl_->signals.add(signal);
  impl_->AwaitSignal(std::move(function));
}

void HttpServer::Drain() {
  impl_->draining = true;
  for (Impl::Connection* client : impl_->connections) {
    if (client->id == 0) client->stream.cancel();  // it waits for a request, or for the rest of one
  }
  if (impl_->exchanges.empty()) Stop();
}

void HttpServer::Stop() {
  impl_->io.stop();
}

int HttpServer::connections() const {
  return static_cast<int>(impl_->connections.size());
}

uint16_t HttpServer::port() const {
  return impl_->acceptor.local_endpoint().port();
}

}  // namespace tritogen::serve
