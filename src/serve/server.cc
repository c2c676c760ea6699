#include "serve/server.h"

#include <charconv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <random>

#include "base/sha256.h"
#include "serve/logprobs.h"

namespace tritogen::serve {
namespace {

constexpr int kWorkers = 2;
constexpr int kClientLeft = 499;  // as nginx counts it
constexpr int kMostChoices = 1024;

constexpr const char *kCompletions = "/v1/completions", *kChat = "/v1/chat/completions";
constexpr const char *kModels = "/v1/models", *kOneModel = "/v1/models/";

struct Route {
  const char *path, *method;
};
constexpr Route kRoutes[] = {
    {kCompletions, "POST"}, {kChat, "POST"}, {kModels, "GET"}, {"/health", "GET"}, {"/metrics", "GET"}};

const Route* FindRoute(std::string_view path) {
  if (path.starts_with(kOneModel)) path = kModels;
  for (const Route& route : kRoutes) {
    if (route.path == path) return &route;
  }
  return nullptr;
}

bool Takes(const Route& route, const std::string& method) {
  return method == route.method || (method == "HEAD" && route.method == std::string_view("GET"));
}

// "Application/JSON; charset=utf-8": types are written in either case (RFC 9110, 8.3.1).
bool IsJsonType(std::string_view content_type) {
  std::string type(content_type.substr(0, content_type.find_first_of("; \t")));
  for (char& c : type) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return type == "application/json";
}

// Of a part of a path: "a%2Fb" is "a/b". What is no escape stays as it is.
std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t at = 0; at < text.size(); ++at) {
    uint8_t byte = 0;
    const char* const digits = text.data() + at + 1;
    const bool escape = text[at] == '%' && at + 2 < text.size() &&
                        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    decoded += escape ? static_cast<char>(byte) : text[at];
    if (escape) at += 2;
  }
  return decoded;
}

// Equal, in a time that does not tell where they differ, nor how long they are.
bool SameSecret(std::string_view a, std::string_view b) {
  Sha256 of_a, of_b;
  of_a.Update(a);
  of_b.Update(b);
  const auto x = of_a.Digest(), y = of_b.Digest();
  uint8_t difference = 0;
  for (size_t i = 0; i < x.size(); ++i) difference |= x[i] ^ y[i];
  return difference == 0;
}

std::string NewId(CallKind kind) {
  std::random_device device;
  std::string id = kind == CallKind::kChat ? "chatcmpl-" : "cmpl-";
  for (int i = 0; i < 3; ++i) id += fmt::format("{:08x}", device());
  return id;
}

double Seconds(Inbox::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

Server::Server(const ServerOptions& options, const ServedModel& model, Generator* generator)
    : options_(options),
      model_(model),
      generator_(generator),
      http_(options.http, this),
      inbox_(std::make_shared<Inbox>([this] { http_.Post([this] { ReadInbox(); }); })),
      workers_(kWorkers, *model.tokenizer) {
  http_.OnSignals({SIGINT, SIGTERM}, [this] { OnSignal(); });
}

Server::~Server() {
  inbox_->Close();
}

bool Server::Run() {
  http_.Run();
  for (const auto& [id, open] : calls_) {
    for (const RequestId request : open.requests) generator_->Cancel(request);
  }
  return !cut_off_ && calls_.empty();
}

// ---- requests

void Server::CheckHead(const HttpRequest& head) const {
  const Route* route = FindRoute(head.path);
  if (head.path.starts_with("/v1/") && !options_.api_key.empty() &&
      !SameSecret(head.authorization, "Bearer " + options_.api_key)) {
    throw ApiError(401, "this server wants its API key: Authorization: Bearer KEY", "", "invalid_api_key");
  }
  if (route == nullptr) throw ApiError(404, "there is no such endpoint", "", "not_found");
  if (!Takes(*route, head.method)) {
    throw ApiError(405, fmt::format("{} takes {} only", route->path, route->method), "",
                   "method_not_allowed");
  }
  const bool post = head.method == "POST";
  if (stopping_ && (post || head.path == "/health")) {
    throw ApiError(503, "the server is stopping", "", "stopping");
  }
  // A page in a browser can send other types to this machine without asking; this one it cannot.
  if (post && !IsJsonType(head.content_type)) {
    throw ApiError(415, "the body must be JSON: Content-Type: application/json", "",
                   "unsupported_media_type");
  }
  if (post) CheckRoom(1);
}

void Server::CheckRoom(int64_t sequences) const {
  const int64_t most = int64_t{model_.limits.slots} + options_.max_queue;
  if (open_sequences_ + preparing_ + sequences <= most) return;
  throw ApiError(429, "the queue is full; try again later", "", "queue_full");
}

std::optional<HttpResponse> Server::OnHeader(const HttpRequest& head) {
  try {
    CheckHead(head);
    return std::nullopt;
  } catch (const ApiError& error) {
    const Route* route = FindRoute(head.path);
    metrics_.CountRequest(route == nullptr ? "other" : route->path, error.status());
    HttpResponse refusal = Refusal(error);
    if (error.status() == 405)
      refusal.headers.emplace_back("Allow", Takes(*route, "HEAD") ? "GET, HEAD" : route->method);
    return refusal;
  }
}

HttpResponse Server::OnBadRequest(int status, const std::string& why) {
  metrics_.CountRequest("other", status);
  if (status == 413) {
    return Refusal(ApiError(413, fmt::format("the body is longer than {} bytes", options_.http.max_body), "",
                            "body_too_large"));
  }
  if (status == 431) {
    return Refusal(ApiError(431, fmt::format("the header is longer than {} bytes", options_.http.max_header),
                            "", "header_too_large"));
  }
  return Refusal(ApiError(status, fmt::format("this is no HTTP: {}", why), "", "bad_http"));
}

HttpResponse Server::Refusal(const ApiError& error) const {
  HttpResponse response{.status = error.status(), .body = error.Body()};
  if (error.status() == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.status() == 429 || error.status() == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

void Server::OnRequest(ExchangeId id, HttpRequest request) {
  if (request.method != "POST") {
    const HttpResponse response = Get(request.path);
    metrics_.CountRequest(FindRoute(request.path)->path, response.status);
    return http_.Respond(id, response);
  }
  ++preparing_;
  calls_.emplace(id, OpenCall{.endpoint = request.path, .arrived = Clock::now()});
  workers_.Add([this, id, request = std::move(request)](Encoder* encoder) {
    Prepare(id, request.path, request.body, encoder);
  });
}

HttpResponse Server::Get(const std::string& path) const {
  if (path == "/metrics") {
    return {.body = metrics_.Text(generator_->Stats(), {http_.connections(), open_sequences_}),
            .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  }
  if (path == "/health" && !engine_failure_.empty())
    return Refusal(ApiError(503, engine_failure_, "", "engine_failed"));
  if (path == "/health") return {.body = Json{{"status", "ok"}}.dump()};
  const Json model = {{"id", model_.name},
                      {"object", "model"},
                      {"created", model_.created},
                      {"owned_by", "tritogen"},
                      {"max_model_len", model_.limits.context}};
  if (path.starts_with(kOneModel)) {
    if (PercentDecoded(path.substr(std::strlen(kOneModel))) != model_.name) return Refusal(NoSuchModel());
    return {.body = model.dump()};
  }
  return {.body = Json{{"object", "list"}, {"data", Json::array({model})}}.dump()};
}

int32_t Server::MostChoices() const {
  return static_cast<int32_t>(
      std::min<int64_t>(kMostChoices, int64_t{model_.limits.slots} + options_.max_queue));
}

// On a worker's thread.
void Server::Prepare(ExchangeId id, const std::string& endpoint, const std::string& body, Encoder* encoder) {
  std::function<void()> outcome;
  try {
    const auto parse = endpoint == kChat ? ParseChat : ParseCompletion;
    outcome = [this, id, call = parse(body, model_, MostChoices(), encoder)]() mutable {
      Submit(id, std::move(call));
    };
  } catch (const ApiError& error) {
    outcome = [this, id, error] { Fail(id, error); };
  } catch (const std::exception& error) {
    const ApiError failure(500, fmt::format("a fault of the server: {}", error.what()));
    outcome = [this, id, failure] { Fail(id, failure); };
  }
  http_.Post([this, outcome = std::move(outcome)] {
    --preparing_;
    outcome();
  });
}

void Server::Submit(ExchangeId id, Call call) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;  // the client left meanwhile
  OpenCall& open = found->second;
  try {
    CheckRoom(call.choices());
    open.stream = call.stream;
    open.last_tokens.resize(call.choices());
    open.reply.emplace(call, model_, NewId(call.kind), std::time(nullptr));
    for (size_t i = 0; i < call.prompts.size(); ++i) {
      const auto put = [inbox = inbox_, id, i](Chunk chunk) {
        inbox->Put({id, i, std::move(chunk), Clock::now()});
      };
      Request request{std::move(call.prompts[i]), call.options, call.n};
      open.requests.push_back(generator_->Submit(std::move(request), put));
      open_sequences_ += call.n;
    }
  } catch (const ApiError& error) {
    return Fail(id, error);
  } catch (const UserError& error) {
    return Fail(id, ApiError(400, error.what()));
  } catch (const std::exception& error) {
    engine_failure_ = error.what();
    return Fail(id, ApiError(500, engine_failure_, "", "engine_failed"));
  }
  if (!open.stream) return;
  metrics_.CountRequest(open.endpoint, 200);
  http_.Begin(
      id, {.content_type = "text/event-stream; charset=utf-8", .headers = {{"Cache-Control", "no-cache"}}});
}

// ---- answers

void Server::ReadInbox() {
  for (const Inbox::Item& item : inbox_->Take()) {
    if (item.chunk.finish) --open_sequences_;
    try {
      Take(item);
    } catch (const std::exception& error) {
      Fail(item.exchange, ApiError(500, fmt::format("a fault of the server: {}", error.what())));
    }
  }
}

void Server::Take(const Inbox::Item& item) {
  const auto found = calls_.find(item.exchange);
  if (found == calls_.end()) return;
  OpenCall& open = found->second;
  const Chunk& chunk = item.chunk;
  if (chunk.finish == FinishReason::kError) return Fail(item.exchange, ApiError(500, chunk.error));
  if (chunk.finish == FinishReason::kCancelled) {
    return Fail(item.exchange, ApiError(503, "the server cancelled it", "", "cancelled"));
  }
  const size_t choice = item.prompt * (open.last_tokens.size() / open.requests.size()) + chunk.index;
  CountTokens(&open, choice, item);
  const std::string events = open.reply->Add(item.prompt, chunk);
  if (!events.empty()) http_.Write(item.exchange, events);
  if (open.reply->complete()) Finish(item.exchange, &open);
}

void Server::CountTokens(OpenCall* open, size_t choice, const Inbox::Item& item) {
  int64_t tokens = static_cast<int64_t>(item.chunk.samples.size());
  if (tokens == 0) return;
  auto& last = open->last_tokens[choice];
  if (!last) {
    metrics_.AddFirstToken(Seconds(item.time - open->arrived));
    --tokens;
  }
  if (tokens > 0 && last)
    metrics_.AddBetweenTokens(Seconds(item.time - *last) / static_cast<double>(tokens), tokens);
  last = item.time;
}

void Server::Finish(ExchangeId id, OpenCall* open) {
  metrics_.AddRequestSeconds(Seconds(Clock::now() - open->arrived));
  if (open->stream) {
    http_.Write(id, open->reply->Finish());
    http_.End(id);
  } else {
    metrics_.CountRequest(open->endpoint, 200);
    http_.Respond(id, {.body = open->reply->Finish()});
  }
  calls_.erase(id);
}

void Server::Fail(ExchangeId id, const ApiError& error) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  if (found->second.stream && found->second.reply) {
    http_.Write(id, Reply::ErrorEvents(error));
    http_.End(id);
  } else {
    metrics_.CountRequest(found->second.endpoint, error.status());
    http_.Respond(id, Refusal(error));
  }
  Forget(id);
}

void Server::Forget(ExchangeId id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  for (const RequestId request : found->second.requests) generator_->Cancel(request);
  calls_.erase(found);
}

void Server::OnGone(ExchangeId id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;  // it had its answer, and did not read it
  if (!(found->second.stream && found->second.reply))
    metrics_.CountRequest(found->second.endpoint, kClientLeft);
  Forget(id);
}

// ---- the end

void Server::OnSignal() {
  if (stopping_) {
    cut_off_ = true;
    return http_.Stop();
  }
  stopping_ = true;
  http_.Drain();
  http_.After(options_.stop_seconds, [this] {
    cut_off_ = true;
    std::vector<ExchangeId> ids;
    for (const auto& [id, open] : calls_) ids.push_back(id);
    for (const ExchangeId id : ids) Fail(id, ApiError(503, "the server stopped", "", "stopping"));
    http_.After(2, [this] { http_.Stop(); });  // for clients that do not read
  });
}

}  // namespace tritogen::serve
