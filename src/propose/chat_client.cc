#include "propose/chat_client.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>

#include "base/error.h"
#include "base/utf8.h"

namespace tritogen {
namespace {
using nlohmann::json;
using Seconds = std::chrono::duration<double>;
constexpr size_t kRefusalBytes = 64 << 10;  // of the body of a refusal
constexpr double kLongestWait = 60;         // before a retry, where the endpoint names no time
constexpr double kPollSeconds = 0.2;
constexpr size_t kMostUnanswered = 32;  // questions in a row; several may be too long for a model

bool IsRetryable(long status) {
  return status == 408 || status == 425 || status == 429 || (status >= 500 && status != 501 && status != 505);
}

void RequireHeaderText(const std::string& key, const std::string& variable) {
  const bool plain = std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!plain)
    throw UserError(
        fmt::format("the key in {} holds blanks, line breaks or other characters that no key has", variable));
}

}  // namespace

// One request on its way from Submit to its result.
struct ChatClient::Job {
  std::string id, purpose, body;
  int sample = 0;
  Clock::time_point started, deadline;  // of all its tries
  Clock::time_point not_before{}, last_byte;
  int tries = 0;
  bool begun = false;
  // Of the current try:
  CurlEasy easy;
  std::unique_ptr<ReplyReader> reader;
  std::string refusal;  // the body where the status is no 200
  bool enough = false;  // the reader wants no more
  ChatClient* client = nullptr;
};

ChatClient::ChatClient(ChatClientOptions options)
    : options_(std::move(options)),
      address_(ChatAddress(options_.url)),
      curl_(Curl::Load()),
      multi_(curl_.curl_multi_init()),
      jitter_(std::random_device()()) {
  if (options_.model.empty()) throw UserError("a remote model needs its name: --model NAME");
  curl_slist* headers = curl_.curl_slist_append(nullptr, "Content-Type: application/json");
  headers = curl_.curl_slist_append(headers, "Expect:");
  if (!options_.key.empty()) {
    RequireHeaderText(options_.key, options_.key_variable);
    headers = curl_.curl_slist_append(headers, ("Authorization: Bearer " + options_.key).c_str());
  }
  headers_.reset(headers);
  if (!options_.cost_log.empty()) log_.emplace(options_.cost_log);
}

ChatClient::~ChatClient() {
  for (const auto& job : running_) curl_.curl_multi_remove_handle(multi_.get(), job->easy.get());
}

void ChatClient::Submit(std::string id, const ChatRequest& request) {
  json body = options_.extra;
  body["model"] = options_.model;
  body["messages"] = json::array();
  for (const ChatMessage& message : request.messages)
    body["messages"].push_back({{"role", message.role}, {"content", message.content}});
  body["stream"] = options_.stream;
  if (options_.stream) body["stream_options"] = {{"include_usage", true}};
  for (int sample = 0; sample < request.samples; ++sample) {
    auto job = std::make_unique<Job>();
    job->id = id;
    job->sample = sample;
    job->purpose = request.purpose;
    job->body = body.dump(-1, ' ', false, json::error_handler_t::replace);
    job->client = this;
    waiting_.push_back(std::move(job));
  }
}

int ChatClient::unfinished() const {
  return static_cast<int>(waiting_.size() + running_.size() + done_.size());
}

std::optional<ChatClient::Done> ChatClient::Next(double timeout_seconds) {
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(timeout_seconds));
  while (done_.empty() && unfinished() > 0) {
    StartWaiting();
    int active = 0;
    curl_.curl_multi_perform(multi_.get(), &active);
    Collect();
    EndLate();
    if (!done_.empty() || unfinished() == 0) break;
    const double left = SecondsToWait(end);
    if (left <= 0) return std::nullopt;
    curl_.curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(1000 * std::min(left, kPollSeconds)) + 1,
                          nullptr);
  }
  if (done_.empty()) return std::nullopt;
  Done done = std::move(done_.front());
  done_.pop_front();
  return done;
}

void ChatClient::Cancel() {
  const ChatFailure cancelled{ChatFailure::Kind::kCancelled, Sentence("stopped before it answered")};
  while (!running_.empty()) Settle(Take(running_.front().get()), cancelled);
  while (!waiting_.empty()) {
    auto job = std::move(waiting_.front());
    waiting_.pop_front();
    Settle(std::move(job), cancelled);
  }
}

void ChatClient::StartWaiting() {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const bool place =
        static_cast<int>(running_.size()) < options_.concurrency && SecondsToWait(pause_until_) <= 0;
    if (!refusal_ && (!place || SecondsToWait((*next)->not_before) > 0)) {
      ++next;
      continue;
    }
    auto job = std::move(*next);
    next = waiting_.erase(next);
    if (refusal_) {
      Settle(std::move(job), *refusal_);
    } else {
      Start(std::move(job));
    }
  }
}

size_t ChatClient::OnBytes(char* bytes, size_t size, size_t count, void* user) {
  auto* job = static_cast<Job*>(user);
  job->last_byte = Clock::now();
  long status = 0;
  job->client->curl_.curl_easy_getinfo(job->easy.get(), CURLINFO_RESPONSE_CODE, &status);
  const std::string_view data(bytes, size * count);
  if (status == 200) {
    job->enough = !job->reader->Feed(data);
  } else {
    job->refusal += data.substr(0, kRefusalBytes - std::min(kRefusalBytes, job->refusal.size()));
    job->enough = job->refusal.size() >= kRefusalBytes;
  }
  return job->enough ? 0 : data.size();
}

void ChatClient::Start(std::unique_ptr<Job> job) {
  const Clock::time_point now = Clock::now();
  if (!std::exchange(job->begun, true)) {
    job->started = now;
    job->deadline = now + std::chrono::duration_cast<Clock::duration>(Seconds(options_.total_seconds));
  }
  ++job->tries;
  job->last_byte = now;
  job->reader = std::make_unique<ReplyReader>(options_.limits);
  job->refusal.clear();
  job->enough = false;
  job->easy.reset(curl_.curl_easy_init());
  TRITOGEN_CHECK(job->easy != nullptr);
  CURL* easy = job->easy.get();
  auto set = [&](CURLoption option, auto value) { curl_.curl_easy_setopt(easy, option, value); };
  set(CURLOPT_URL, address_.c_str());
  set(CURLOPT_HTTPHEADER, headers_.get());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(job->body.size()));
  set(CURLOPT_POSTFIELDS, job->body.c_str());
  set(CURLOPT_WRITEFUNCTION, &ChatClient::OnBytes);
  set(CURLOPT_WRITEDATA, job.get());
  set(CURLOPT_PRIVATE, job.get());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_CONNECTTIMEOUT_MS, std::lround(1000 * options_.connect_seconds));
  if (!options_.ca_file.empty()) set(CURLOPT_CAINFO, options_.ca_file.c_str());
  curl_.curl_multi_add_handle(multi_.get(), easy);
  running_.push_back(std::move(job));
}

std::unique_ptr<ChatClient::Job> ChatClient::Take(Job* running) {
  const auto found =
      std::find_if(running_.begin(), running_.end(), [&](const auto& job) { return job.get() == running; });
  TRITOGEN_CHECK(found != running_.end());
  std::unique_ptr<Job> job = std::move(*found);
  running_.erase(found);
  curl_.curl_multi_remove_handle(multi_.get(), job->easy.get());
  return job;
}

void ChatClient::Collect() {
  int left = 0;
  while (CURLMsg* message = curl_.curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    char* running = nullptr;
    curl_.curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &running);
    EndTry(Take(reinterpret_cast<Job*>(running)), code);
  }
}

void ChatClient::EndLate() {
  const Clock::time_point now = Clock::now();
  auto late = [&](const Job& job) -> std::optional<Failed> {
    if (job.begun && now >= job.deadline)
      return Failed{ChatFailure::Kind::kTimeout,
                    fmt::format("no answer within {:g} s", options_.total_seconds)};
    if (job.easy && Seconds(now - job.last_byte).count() >= options_.idle_seconds)
      return Failed{ChatFailure::Kind::kTimeout,
                    fmt::format("it sent nothing for {:g} s", options_.idle_seconds), true};
    return std::nullopt;
  };
  std::vector<std::pair<Job*, Failed>> ends;
  for (const auto& job : running_) {
    if (auto failed = late(*job)) ends.emplace_back(job.get(), *failed);
  }
  for (auto& [running, failed] : ends) {
    auto job = Take(running);
    job->easy.reset();
    if (failed.again && job->tries <= options_.retries) {
      waiting_.push_back(std::move(job));
    } else {
      Settle(std::move(job), ChatFailure{failed.kind, Sentence(failed.what)});
    }
  }
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    auto failed = late(**next);
    if (!failed) {
      ++next;
      continue;
    }
    auto job = std::move(*next);
    next = waiting_.erase(next);
    Settle(std::move(job), ChatFailure{failed->kind, Sentence(failed->what)});
  }
}

void ChatClient::EndTry(std::unique_ptr<Job> job, CURLcode code) {
  auto outcome = Outcome(job.get(), code);
  job->easy.reset();
  if (auto* reply = std::get_if<ChatReply>(&outcome)) {
    ever_answered_ = true;
    unanswered_.clear();
    reply->retries = job->tries - 1;
    reply->seconds = Seconds(Clock::now() - job->started).count();
    reply->content = Redacted(std::move(reply->content));
    reply->reasoning = Redacted(std::move(reply->reasoning));
    Settle(std::move(job), std::move(*reply));
    return;
  }
  Failed& failed = std::get<Failed>(outcome);
  const double growing = options_.retry_wait_seconds * std::pow(2.0, std::min(job->tries - 1, 30));
  const double share = 0.5 + 0.5 * static_cast<double>(jitter_.Next() >> 11) * 0x1p-53;
  const double wait =
      failed.wait_seconds > 0 ? failed.wait_seconds + 0.1 * share : std::min(growing, kLongestWait) * share;
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(wait));
  const bool again = failed.again && job->tries <= options_.retries && until < job->deadline;
  if (again) {
    if (failed.wait_seconds > 0) pause_until_ = std::max(pause_until_, until);
    job->not_before = until;
    waiting_.push_back(std::move(job));
    return;
  }
  if (failed.again && job->tries <= options_.retries)
    failed.what += fmt::format("; it asks to wait {:g} s, longer than is left", failed.wait_seconds);
  CountUnanswered(*job, &failed);
  if (job->tries > 1) failed.what += fmt::format(" (after {} tries)", job->tries);
  const ChatFailure failure{failed.kind, Sentence(failed.what)};
  if (failed.all) refusal_ = failure;
  Settle(std::move(job), failure);
}

// Where question after question gets nothing, it is not the questions that are wrong: a login page, another
// API.
void ChatClient::CountUnanswered(const Job& job, Failed* failed) {
  const bool bad_reply = failed->kind == ChatFailure::Kind::kBadReply;
  if (!bad_reply && failed->kind != ChatFailure::Kind::kBadRequest) return;
  unanswered_.insert(std::hash<std::string>()(job.body));
  if (unanswered_.size() < (bad_reply && !ever_answered_ ? 2 : kMostUnanswered)) return;
  failed->what += fmt::format("; so it was for {} questions in a row", unanswered_.size());
  failed->kind = ChatFailure::Kind::kRefused;
  failed->all = true;
}

std::variant<ChatReply, ChatClient::Failed> ChatClient::Outcome(Job* job, CURLcode code) {
  long status = 0;
  curl_.curl_easy_getinfo(job->easy.get(), CURLINFO_RESPONSE_CODE, &status);
  const bool stopped_by_us = code == CURLE_WRITE_ERROR && job->enough;
  const bool broken = code != CURLE_OK && !stopped_by_us;
  if (status == 0 || (broken && code != CURLE_PARTIAL_FILE && code != CURLE_RECV_ERROR && status == 200))
    return NoTransfer(*job, code);
  if (status != 200) return Refusal(job, status);
  auto result = job->reader->Finish(!broken);
  if (auto* reply = std::get_if<ChatReply>(&result)) return std::move(*reply);
  BadReply& bad = std::get<BadReply>(result);
  return Failed{bad.may_help_to_retry ? ChatFailure::Kind::kBroken : ChatFailure::Kind::kBadReply,
                bad.message, bad.may_help_to_retry};
}

ChatClient::Failed ChatClient::Refusal(Job* job, long status) {
  const std::string reason = RefusalText(job->refusal);
  std::string what = fmt::format("HTTP {}{}{}", status, reason.empty() ? "" : ": ", reason);
  if (IsRetryable(status)) {
    curl_off_t seconds = 0;
    curl_.curl_easy_getinfo(job->easy.get(), CURLINFO_RETRY_AFTER, &seconds);
    return {ChatFailure::Kind::kBusy, what, true, static_cast<double>(std::max<curl_off_t>(0, seconds))};
  }
  if (status >= 300 && status < 400) {
    char* target = nullptr;
    curl_.curl_easy_getinfo(job->easy.get(), CURLINFO_REDIRECT_URL, &target);
    what = fmt::format(
        "HTTP {}: it redirects to {}, and redirects are not followed, since they would take the key along; "
        "give the right address",
        status, target == nullptr ? "nowhere" : PrintableText(target, 200));
  } else if (status == 401 || status == 403) {
    what += options_.key.empty() ? fmt::format(" (no key was sent: {} is not set)", options_.key_variable)
                                 : fmt::format(" (the key comes from {})", options_.key_variable);
  } else if (status == 404) {
    what += fmt::format(" (is the address right, and does it have the model {}?)", options_.model);
  } else if (status < 300) {
    return {ChatFailure::Kind::kBadReply, what + ", which is no answer"};
  }
  const bool all = status == 401 || status == 403 || status == 404 || (status >= 300 && status < 400);
  return {all ? ChatFailure::Kind::kRefused : ChatFailure::Kind::kBadRequest, what, false, 0, all};
}

// There was no answer at all, or its transfer failed in a way that says nothing of the endpoint's answer.
ChatClient::Failed ChatClient::NoTransfer(const Job& job, CURLcode code) const {
  const std::string what = curl_.curl_easy_strerror(code);
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
      // Where nothing ever answered, the address is likelier to be wrong than the endpoint to be back soon.
      return {ChatFailure::Kind::kBroken, what, ever_answered_, 0, !ever_answered_};
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
      return {ChatFailure::Kind::kRefused, what, false, 0, true};
    case CURLE_OPERATION_TIMEDOUT:
      return {ChatFailure::Kind::kTimeout,
              fmt::format("no connection within {:g} s", options_.connect_seconds), true};
    default:
      return {ChatFailure::Kind::kBroken, what, true};
  }
}

void ChatClient::Settle(std::unique_ptr<Job> job, ChatResult result) {
  Log(*job, result);
  done_.push_back({std::move(job->id), job->sample, std::move(result)});
}

void ChatClient::Log(const Job& job, const ChatResult& result) {
  if (!log_ || job.tries == 0) return;  // what was never sent costs nothing
  const auto* reply = std::get_if<ChatReply>(&result);
  const auto* failure = std::get_if<ChatFailure>(&result);
  auto known = [](const auto& value) { return value ? json(*value) : json(); };
  const auto prompt_tokens = reply ? reply->prompt_tokens : std::nullopt,
             completion_tokens = reply ? reply->completion_tokens : std::nullopt;
  nlohmann::ordered_json entry = {
      {"time", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"endpoint", address_},
      {"model", options_.model},
      {"purpose", job.purpose},
      {"prompt_tokens", known(prompt_tokens)},
      {"completion_tokens", known(completion_tokens)},
      {"dollars", known(CostOf(options_.prices, prompt_tokens, completion_tokens))},
      {"retries", job.tries - 1},
      {"seconds", std::round(1000 * Seconds(Clock::now() - job.started).count()) / 1000},
      {"finish", reply ? json(reply->finish_reason) : json()},
      {"failure", failure ? json(failure->message) : json()}};
  try {
    log_->Append(entry);
  } catch (const UserError& error) {
    log_problem_ = error.what();
    log_.reset();
  }
}

std::string ChatClient::Redacted(std::string text) const {
  if (options_.key.empty()) return text;
  for (size_t at = 0; (at = text.find(options_.key, at)) != std::string::npos; at += 5)
    text.replace(at, options_.key.size(), "[key]");
  return text;
}

std::string ChatClient::Sentence(std::string_view what) const {
  return Redacted(fmt::format("{}: {}", address_, what));
}

}  // namespace tritogen
