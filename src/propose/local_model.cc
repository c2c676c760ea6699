#include "propose/local_model.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/frame.h"
#include "base/process.h"
#include "propose/local_model_process.h"

namespace tritogen {
namespace {

using nlohmann::json;

}  // namespace

LocalModel::LocalModel(std::string name, const std::function<LoadedModel()>& open) : name_(std::move(name)) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw InternalError(fmt::format("socketpair: {}", std::strerror(errno)));
  std::fflush(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw InternalError(fmt::format("fork: {}", std::strerror(errno)));
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    signal(SIGINT, SIG_IGN);  // the caller ends this process
    signal(SIGTERM, SIG_DFL);
    close(ends[0]);
    int status = 0;
    try {
      ServeModel(ends[1], open);
    } catch (const std::exception&) {
      status = 1;
    }
    _exit(status);
  }
  close(ends[1]);
  fd_ = UniqueFd(ends[0]);
  signal(SIGPIPE, SIG_IGN);
}

LocalModel::~LocalModel() {
  fd_.Reset();
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void LocalModel::Submit(std::string id, const ChatRequest& request) {
  const int64_t ticket = next_ticket_++;
  asked_[ticket] = {std::move(id), request.samples};
  unfinished_ += request.samples;
  Send({{"ticket", ticket},
        {"messages", json(ToJson(request.messages))},
        {"samples", request.samples},
        {"seed", request.seed}});
}

void LocalModel::Send(const json& message) {
  const std::string frame = EncodeFrame(message);
  for (std::string_view rest = frame; !rest.empty();) {
    const ssize_t count = write(fd_.get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      Read(0);  // what it said at its end
      Ended();
    }
    rest.remove_prefix(static_cast<size_t>(count));
  }
}

void LocalModel::Cancel() {
  Send({{"cancel", true}});
}

std::optional<ChatModel::Done> LocalModel::Next(double timeout_seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(timeout_seconds));
  while (done_.empty() && unfinished_ > 0) {
    const double left = std::chrono::duration<double>(end - Clock::now()).count();
    Read(std::max(0.0, left));
    if (left <= 0) break;
  }
  if (done_.empty()) return std::nullopt;
  Done done = std::move(done_.front());
  done_.pop_front();
  --unfinished_;
  return done;
}

// Frames are taken as far as they are whole.
void LocalModel::Read(double timeout_seconds) {
  pollfd ready{fd_.get(), POLLIN, 0};
  if (poll(&ready, 1, static_cast<int>(std::ceil(1000 * timeout_seconds))) <= 0) return;
  char bytes[65536];
  const ssize_t count = recv(fd_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) Ended();
  unread_.append(bytes, static_cast<size_t>(count));
  std::string_view rest = unread_;
  while (rest.size() >= kFrameHeaderBytes) {
    const size_t size = kFrameHeaderBytes + FrameBodyBytes(rest.substr(0, kFrameHeaderBytes));
    if (rest.size() < size) break;
    Take(DecodeFrame(rest.substr(0, size)));
    rest.remove_prefix(size);
  }
  unread_.erase(0, unread_.size() - rest.size());
}

void LocalModel::Take(const json& message) {
  if (message.contains("fault")) {
    const std::string fault = message.at("fault");
    if (message.at("user")) throw UserError(fault);
    throw InternalError(fmt::format("model {}: {}", name_, fault));
  }
  const auto asked = asked_.find(message.at("ticket"));
  TRITOGEN_CHECK(asked != asked_.end());
  Done done{asked->second.id, message.at("sample").get<int>(), ChatReply()};
  if (message.contains("failure")) {
    done.result = ChatFailure{
        message.contains("cancelled") ? ChatFailure::Kind::kCancelled : ChatFailure::Kind::kBadRequest,
        fmt::format("{}: {}", name_, message.at("failure").get<std::string>())};
  } else {
    ChatReply reply{.content = message.at("text"), .finish_reason = message.at("finish")};
    reply.prompt_tokens = message.at("prompt_tokens").get<int64_t>();
    reply.completion_tokens = message.at("tokens").get<int64_t>();
    done.result = std::move(reply);
  }
  done_.push_back(std::move(done));
  if (--asked->second.waiting == 0) asked_.erase(asked);
}

void LocalModel::Ended() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  throw UserError(fmt::format("the process of model {} ended: {}; was there enough memory?", name_,
                              DescribeWaitStatus(status)));
}

}  // namespace tritogen
