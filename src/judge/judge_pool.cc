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
#include <memory>

#include "base/error.h"
#include "base/frame.h"
#include "base/process.h"
#include "plan/parse.h"
#include "plan/serialize.h"

namespace tritogen {
namespace {

using nlohmann::json;

// Blocking frames between the pool and its judges. False or nothing: the other end is gone, or what came is
// no frame.
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
  if (!ReadExactly(fd, FrameBodyBytes(frame), &frame)) return std::nullopt;
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
          {"on_gpu", options.on_gpu},
          {"timing_samples", options.timing_samples},
          {"timing_seconds", options.timing_seconds},
          {"against_itself", options.against_itself},
          {"want_plan", want_plan}};
}

JudgeRequest RequestFrom(const json& message) {
  JudgeRequest request{SourceFrom(message.at("reference")), SourceFrom(message.at("candidate")), {}};
  request.options.mode = message.at("strict") ? Mode::kStrict : Mode::kHybrid;
  request.options.seed = message.at("seed");
  request.options.threads = message.at("threads");
  request.options.budget_seconds = message.at("budget_seconds");
  request.options.memory_bytes = message.at("memory_bytes");
  request.options.on_gpu = message.at("on_gpu");
  request.options.timing_samples = message.at("timing_samples");
  request.options.timing_seconds = message.at("timing_seconds");
  request.options.against_itself = message.at("against_itself");
  return request;
}

// The life of a judge process: one job at a time until the pool closes its end.
[[noreturn]] void ServeJobs(int fd, const JudgeMaker& make_judge) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGINT, SIG_IGN);  // the pool decides when to stop
  const JudgeFunction judge = make_judge();
  while (auto message = ReceiveFrame(fd)) {
    json reply;
    try {
      const Judgement judgement = judge(RequestFrom(*message));
      reply = {{"verdict", judgement.verdict.ToJson()},
               {"reference_failed", judgement.reference_failed},
               {"last", judgement.last}};
      if (message->at("want_plan") && judgement.plan) reply["plan"] = ToJson(*judgement.plan);
    } catch (const std::exception& error) {
      Verdict verdict;
      verdict.reason = fmt::format("a fault of Tritogen: {}", error.what());
      reply = {{"verdict", verdict.ToJson()}, {"reference_failed", false}, {"last", false}};
    }
    if (!SendFrame(fd, reply)) break;
  }
  _exit(0);
}

JudgeReply ReplyFrom(std::string id, const json& message) {
  JudgeReply reply{.id = std::move(id),
                   .verdict = message.at("verdict"),
                   .outcome = message.at("verdict").at("verdict"),
                   .reference_failed = message.at("reference_failed"),
                   .plan = {}};
  if (message.contains("plan")) reply.plan = ParsePlan(message.at("plan"));
  return reply;
}

}  // namespace

JudgePool::JudgePool(Recorder* recorder, int judges, cuda::KernelCompiler* compiler,
                     const std::optional<VerdictCacheOptions>& cache)
    : JudgePool(
          [recorder, compiler, cache]() -> JudgeFunction {
            return [judge = std::make_shared<Judge>(recorder, compiler, cache)](const JudgeRequest& request) {
              return judge->Run(request);
            };
          },
          judges) {}

JudgePool::JudgePool(JudgeMaker make_judge, int judges, double grace_seconds)
    : make_judge_(std::move(make_judge)), grace_seconds_(grace_seconds), processes_(std::max(1, judges)) {
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
    ServeJobs(ends[1], make_judge_);
  }
  close(ends[1]);
  process->pid = pid;
  process->fd = ends[0];
}

// Gives the status with which the process ended; one that ended by itself keeps its own.
int JudgePool::Stop(Process* process) {
  int status = 0;
  if (process->pid > 0) {
    kill(process->pid, SIGKILL);
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR) continue;
    close(process->fd);
  }
  if (process->job) --busy_;
  *process = Process();
  return status;
}

void JudgePool::Assign() {
  for (Process& process : processes_) {
    if (process.job || waiting_.empty()) continue;
    if (process.pid < 0) Start(&process);
    process.job = std::move(waiting_.front());
    waiting_.pop_front();
    ++busy_;
    const double limit = process.job->budget_seconds + grace_seconds_;
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
      if (Clock::now() >= process.deadline) {
        return Bury(&process, Outcome::kTimeout,
                    fmt::format("not done {:.0f} s after its budget of {:.0f} s; its judge was killed",
                                grace_seconds_, process.job->budget_seconds));
      }
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

// A candidate may have overwritten its judge's memory, so what comes back may be anything.
JudgeReply JudgePool::Collect(Process* process) {
  std::string fault;
  try {
    if (const std::optional<json> message = ReceiveFrame(process->fd)) {
      JudgeReply reply = ReplyFrom(process->job->id, *message);
      if (message->value("last", false)) {
        Stop(process);
      } else {
        process->job.reset();
        --busy_;
      }
      return reply;
    }
  } catch (const std::exception& error) {
    fault = fmt::format("the process that replayed it sent something that is no reply: {}", error.what());
  }
  return Bury(process, Outcome::kKilled, fault);
}

// The verdict of a job that took its judge with it. An empty reason: how the judge ended says it.
JudgeReply JudgePool::Bury(Process* process, Outcome outcome, const std::string& reason) {
  const Job job = std::move(*process->job);
  const int status = Stop(process);
  Verdict verdict{.outcome = outcome, .reason = reason, .seed = job.seed};
  if (reason.empty()) {
    verdict.reason = fmt::format("the process that replayed it ended: {}", DescribeWaitStatus(status));
    if (WIFSIGNALED(status)) verdict.evidence["signal"] = WTERMSIG(status);
  }
  return {
      .id = job.id, .verdict = verdict.ToJson(), .outcome = std::string(OutcomeName(outcome)), .plan = {}};
}

}  // namespace tritogen
