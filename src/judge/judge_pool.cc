#include "judge/judge_pool.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/frame.h"
#include "plan/parse.h"
#include "plan/serialize.h"

namespace tritogen {
namespace {

using nlohmann::json;

// Beyond its own budget a job gets this long before its judge is killed: recording has limits of its own.
constexpr double kGraceSeconds = 90;

// Blocking frames between the pool and its judges. False or nothing: the other end is gone.
bool SendFrame(int fd, const json& message) {
  std::string frame = EncodeFrame(message);
  for (std::string_view rest = frame; !rest.empty();) {
    const ssize_t count = write(fd, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    rest.remove_prefix(count);
  }
  return true;
}

bool ReadExactly(int fd, size_t bytes, std::string* out) {
  const size_t wanted = out->size() + bytes;
  while (out->size() < wanted) {
    char chunk[65536];
    const ssize_t count = read(fd, chunk, std::min(sizeof(chunk), wanted - out->size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    out->append(chunk, count);
  }
  return true;
}

std::optional<json> ReceiveFrame(int fd) {
  std::string frame;
  if (!ReadExactly(fd, kFrameHeaderBytes, &frame)) return std::nullopt;
  uint32_t bytes = 0;
  for (size_t i = kFrameHeaderBytes; i-- > 0;) bytes = bytes << 8 | static_cast<uint8_t>(frame[i]);
  if (bytes > kMaxFrameBytes || !ReadExactly(fd, bytes, &frame)) return std::nullopt;
  return DecodeFrame(frame);
}

json ToMessage(const SourceFile& source) {
  return {{"text", source.text}, {"entry", source.entry}, {"is_function", source.is_function}};
}

SourceFile SourceFrom(const json& message) {
  return {message.at("text"), message.at("entry"), message.at("is_function")};
}

json ToMessage(const JudgeRequest& request, bool want_plan) {
  const VerifyOptions& options = request.options;
  return {{"reference", ToMessage(request.reference)},
          {"candidate", ToMessage(request.candidate)},
          {"strict", options.mode == Mode::kStrict},
          {"seed", options.seed},
          {"threads", options.threads},
          {"budget_seconds", options.budget_seconds},
          {"memory_bytes", options.memory_bytes},
          {"want_plan", want_plan}};
}

JudgeRequest RequestFrom(const json& message) {
  JudgeRequest request{SourceFrom(message.at("reference")), SourceFrom(message.at("candidate")), {}};
  request.options.mode = message.at("strict") ? Mode::kStrict : Mode::kHybrid;
  request.options.seed = message.at("seed");
  request.options.threads = message.at("threads");
  request.options.budget_seconds = message.at("budget_seconds");
  request.options.memory_bytes = message.at("memory_bytes");
  return request;
}

// The life of a judge process: one job at a time until the pool closes its end.
[[noreturn]] void ServeJobs(int fd, Recorder* recorder) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGINT, SIG_IGN);  // the pool decides when to stop
  Judge judge(recorder);
  while (auto message = ReceiveFrame(fd)) {
    json reply;
    try {
      const Judgement judgement = judge.Run(RequestFrom(*message));
      reply = {{"verdict", judgement.verdict.ToJson()}, {"reference_failed", judgement.reference_failed}};
      if (message->at("want_plan") && judgement.plan) reply["plan"] = ToJson(*judgement.plan);
    } catch (const std::exception& error) {
      Verdict verdict;
      verdict.reason = fmt::format("a fault of Tritogen: {}", error.what());
      reply = {{"verdict", verdict.ToJson()}, {"reference_failed", false}};
    }
    if (!SendFrame(fd, reply)) break;
  }
  _exit(0);
}

JudgeReply ReplyWith(std::string id, const Verdict& verdict) {
  return {.id = std::move(id),
          .verdict = verdict.ToJson(),
          .outcome = std::string(OutcomeName(verdict.outcome)),
          .plan = {}};
}

}  // namespace

JudgePool::JudgePool(Recorder* recorder, int judges) : recorder_(recorder), processes_(std::max(1, judges)) {
  signal(SIGPIPE, SIG_IGN);
}

JudgePool::~JudgePool() {
  Cancel();
}

void JudgePool::Submit(std::string id, const JudgeRequest& request, bool want_plan) {
  waiting_.push_back(
      {std::move(id), ToMessage(request, want_plan), request.options.budget_seconds, request.options.seed});
}

void JudgePool::Cancel() {
  waiting_.clear();
  for (Process& process : processes_) Stop(&process);
}

void JudgePool::Start(Process* process) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw InternalError(fmt::format("socketpair: {}", std::strerror(errno)));
  }
  const pid_t pid = fork();
  if (pid < 0) throw InternalError(fmt::format("fork: {}", std::strerror(errno)));
  if (pid == 0) {
    for (const Process& other : processes_) {
      if (other.fd >= 0) close(other.fd);
    }
    close(ends[0]);
    ServeJobs(ends[1], recorder_);
  }
  close(ends[1]);
  process->pid = pid;
  process->fd = ends[0];
}

void JudgePool::Stop(Process* process) {
  if (process->pid > 0) {
    kill(process->pid, SIGKILL);
    waitpid(process->pid, nullptr, 0);
    close(process->fd);
  }
  if (process->job) --busy_;
  *process = Process();
}

void JudgePool::Assign() {
  for (Process& process : processes_) {
    if (process.job || waiting_.empty()) continue;
    if (process.pid < 0) Start(&process);
    process.job = std::move(waiting_.front());
    waiting_.pop_front();
    ++busy_;
    const double limit = process.job->budget_seconds + kGraceSeconds;
    process.deadline = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(limit * 1000));
    SendFrame(process.fd, process.job->message);  // a judge that is gone shows when its reply is read
  }
}

std::optional<JudgeReply> JudgePool::Next(double timeout_seconds) {
  const auto give_up = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(timeout_seconds * 1000));
  while (true) {
    Assign();
    if (busy_ == 0) return std::nullopt;
    auto wake = give_up;
    std::vector<pollfd> fds;
    std::vector<Process*> polled;
    for (Process& process : processes_) {
      if (!process.job) continue;
      if (Clock::now() >= process.deadline) return Bury(&process, true);
      wake = std::min(wake, process.deadline);
      fds.push_back({process.fd, POLLIN, 0});
      polled.push_back(&process);
    }
    const double wait = std::chrono::duration<double, std::milli>(wake - Clock::now()).count();
    const int ready = poll(fds.data(), fds.size(), static_cast<int>(std::ceil(std::max(0.0, wait))));
    if (ready < 0) return std::nullopt;  // a signal: the caller looks at its flag
    for (size_t i = 0; i < fds.size() && ready > 0; ++i) {
      if (fds[i].revents) return Collect(polled[i]);
    }
    if (Clock::now() >= give_up) return std::nullopt;
  }
}

JudgeReply JudgePool::Collect(Process* process) {
  const std::optional<json> message = ReceiveFrame(process->fd);
  if (!message) return Bury(process, false);
  JudgeReply reply{.id = std::move(process->job->id),
                   .verdict = message->at("verdict"),
                   .outcome = message->at("verdict").at("verdict"),
                   .reference_failed = message->at("reference_failed"),
                   .plan = {}};
  if (message->contains("plan")) reply.plan = ParsePlan(message->at("plan"));
  process->job.reset();
  --busy_;
  return reply;
}

JudgeReply JudgePool::Bury(Process* process, bool timed_out) {
  Verdict verdict;
  verdict.seed = process->job->seed;
  std::string id = process->job->id;
  if (timed_out) {
    verdict.outcome = Outcome::kTimeout;
    verdict.reason = fmt::format("not done {:.0f} s after its budget of {:.0f} s; its judge was killed",
                                 kGraceSeconds, process->job->budget_seconds);
  } else {
    int status = 0;
    waitpid(process->pid, &status, 0);
    verdict.outcome = Outcome::kKilled;
    verdict.reason =
        WIFSIGNALED(status)
            ? fmt::format("the process that replayed it was ended by signal {} ({})", WTERMSIG(status),
                          strsignal(WTERMSIG(status)))
            : fmt::format("the process that replayed it ended with status {}", WEXITSTATUS(status));
    if (WIFSIGNALED(status)) verdict.evidence["signal"] = WTERMSIG(status);
    close(process->fd);
    process->pid = -1;  // already waited for
    process->fd = -1;
  }
  Stop(process);
  return ReplyWith(std::move(id), verdict);
}

}  // namespace tritogen
