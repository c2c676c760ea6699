#include "judge/judge_pool.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/frame.h"
#include "base/process.h"
#include "judge/judge_channel.h"
#include "plan/parse.h"

namespace tritogen {
namespace {

using nlohmann::json;

JudgeReply ReplyFrom(std::string id, const json& message) {
  JudgeReply reply{.id = std::move(id),
                   .verdict = message.at("verdict"),
                   .outcome = message.at("verdict").at("verdict"),
                   .reference_failed = message.at("reference_failed"),
                   .plan = {}};
  return reply;
}

int CountOf(const GpuTarget& gpu) {
  return std::max(1, static_cast<int>(gpu.uuids.size()));
}

// Of several GPUs a judge uses one, the first that its libraries see. Its driver has not been asked yet.
void SeeOneGpu(const std::vector<std::string>& uuids, int number) {
  if (uuids.size() < 2) return;
  setenv("CUDA_VISIBLE_DEVICES", uuids[number % uuids.size()].c_str(), /*overwrite=*/1);
}

// The workers, warm, and what is theirs. Who has a GPU records nothing.
JudgeNeeds WhatIsShared(Recorder* recorder, const std::optional<GpuTarget>& gpu, bool on_gpu) {
  JudgeNeeds needs;
  if (!on_gpu) recorder->Await();
  if (gpu) gpu->compiler->Start();
  if (!on_gpu) needs.fds = recorder->fds(&needs.held);
  if (!gpu) return needs;
  for (const int fd : gpu->compiler->fds(&needs.held)) needs.fds.push_back(fd);
  needs.folders = {gpu->compiler->folder()};
  return needs;
}

constexpr size_t kLookAhead = 64;          // waiting jobs that a judge may choose from, at the least
constexpr size_t kLookAheadPerJudge = 4;   // so that few take over what another has the reference of
constexpr size_t kWaitingPerGpuJudge = 3;  // recording runs ahead by so many jobs, and no further
// With a judge that stops in the midst of a frame, or reads none (one makes a GPU's context first): deadlines
// are not looked at meanwhile.
constexpr std::chrono::seconds kPatience{60};
constexpr auto kTimeToLetGo = std::chrono::seconds(2);  // of a GPU: giving 100 GB back takes 0.1 s

// Of a judge that has nothing to say. (Its process may take long to end, with a GPU's memory to give back.)
bool HasHungUp(int fd) {
  pollfd end{fd, POLLIN, 0};
  return poll(&end, 1, 0) > 0;
}

}  // namespace

JudgePool::JudgePool(Recorder* recorder, int judges, const std::optional<GpuTarget>& gpu,
                     const std::optional<VerdictCacheOptions>& cache)
    : JudgePool(
          [recorder, gpu, cache]() -> JudgeFunction {
            return [judge = std::make_shared<Judge>(recorder, gpu, cache)](const JudgeRequest& request,
                                                                           const FindVerdict& find) {
              return judge->Run(request, find);
            };
          },
          judges,
          [gpu, many = judges > 1](int number) -> GpuJudgeFunction {
            SeeOneGpu(gpu->uuids, number);
            return [judge = std::make_shared<GpuJudge>(gpu->compiler, many)](GpuJob job) {
              return judge->Run(std::move(job));
            };
          },
          gpu ? std::min(judges, CountOf(*gpu) * kGpuJudges) : 0, kGraceSeconds,
          [recorder, gpu](bool on_gpu) { return WhatIsShared(recorder, gpu, on_gpu); },
          gpu ? CountOf(*gpu) : 1, cache) {}

JudgePool::JudgePool(JudgeMaker make_judge, int judges, double grace_seconds)
    : JudgePool(std::move(make_judge), judges, nullptr, 0, grace_seconds) {}

JudgePool::JudgePool(JudgeMaker make_judge, int judges, GpuJudgeMaker make_gpu_judge, int gpu_judges,
                     double grace_seconds, BeforeFork before_fork, int gpus,
                     std::optional<VerdictCacheOptions> cache)
    : grace_seconds_(grace_seconds),
      before_fork_(std::move(before_fork)),
      gpus_(gpus),
      cache_options_(std::move(cache)) {
  signal(SIGPIPE, SIG_IGN);
  first_.processes.resize(std::max(1, judges));
  first_.live = [make = std::move(make_judge)](int, int fd, const JudgeNeeds& needs) {
    LiveAsJudge(make, fd, needs);
  };
  second_.processes.resize(gpu_judges);
  second_.live = [make = std::move(make_gpu_judge)](int number, int fd, const JudgeNeeds& needs) {
    LiveAsGpuJudge(make, number, fd, needs);
  };
}

JudgePool::~JudgePool() {
  Cancel();
}

void JudgePool::Begin() {
  for (Process& process : second_.processes) {
    if (process.pid < 0) Start(&second_, &process);
  }
}

void JudgePool::Submit(std::string id, const JudgeRequest& request, bool want_plan) {
  // Where another crew replays, that one keeps references: it should meet those of one together, in this
  // order.
  const bool keeps = second_.processes.empty();
  const std::string group = keeps ? std::to_string(std::hash<std::string>()(request.reference.text)) : "";
  first_.waiting.push_back({std::move(id), EncodeFrame(ToMessage(request, want_plan)),
                            request.options.budget_seconds, request.options.seed,
                            request.options.fp32_precision, group, false, request.candidate.text, nullptr});
}

int JudgePool::unfinished() const {
  return static_cast<int>(first_.waiting.size() + second_.waiting.size()) + first_.busy + second_.busy;
}

void JudgePool::Cancel() {
  LetGo();
  for (Crew* crew : {&first_, &second_}) {
    crew->waiting.clear();
    for (Process& process : crew->processes) Stop(crew, &process);
  }
}

// Whoever made the pool has told the user what is wrong with the file.
VerdictCache& JudgePool::Cache() {
  if (!cache_) cache_.emplace(*cache_options_).TakeWarning();
  return *cache_;
}

void JudgePool::Start(Crew* crew, Process* process) {
  cache_.reset();
  JudgeNeeds needs = before_fork_ ? before_fork_(crew == &second_) : JudgeNeeds();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw InternalError(fmt::format("socketpair: {}", std::strerror(errno)));
  }
  UniqueFd mine(ends[0]), theirs(ends[1]);
  const pid_t pid = fork();
  needs.held.clear();
  if (pid < 0) throw InternalError(fmt::format("fork: {}", std::strerror(errno)));
  if (pid == 0) crew->live(static_cast<int>(process - crew->processes.data()), theirs.get(), needs);
  process->pid = pid;
  process->fd = std::move(mine);
}

// Judges that had a job may keep the GPU for the next one. One that is killed loses its locks before its
// memory is the device's again, and who takes the turn meanwhile finds too little; so they give both back
// first.
void JudgePool::LetGo() {
  auto keeps = [](const Process& p) { return p.pid > 0 && !p.job && !p.group.empty(); };
  for (const Process& process : second_.processes) {
    if (keeps(process)) shutdown(process.fd.get(), SHUT_WR);
  }
  const auto give_up = Clock::now() + kTimeToLetGo;
  for (const Process& process : second_.processes) {
    pollfd end{process.fd.get(), POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up - Clock::now()).count();
    if (keeps(process)) poll(&end, 1, static_cast<int>(std::max<int64_t>(0, left)));
  }
}

// Gives the status with which the process ended; one that ended by itself keeps its own.
int JudgePool::Stop(Crew* crew, Process* process) {
  int status = 0;
  if (process->pid > 0) {
    kill(process->pid, SIGKILL);
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR) continue;
  }
  if (process->job) --crew->busy;
  *process = Process();
  return status;
}

bool JudgePool::ShareGpu(const Crew& crew, const Process& a, const Process& b) const {
  return (&a - crew.processes.data()) % gpus_ == (&b - crew.processes.data()) % gpus_;
}

// One of the process's own group, or of a group that nobody is at, or the first. A large one is left to the
// process that had the last of its group on the same GPU: who keeps memory for it would have to give way to
// another. None is chosen where all are some other process's.
std::deque<JudgePool::Job>::iterator JudgePool::Choose(Crew* crew, const Process& process) {
  auto& waiting = crew->waiting;
  const size_t ahead = std::max(kLookAhead, kLookAheadPerJudge * crew->processes.size());
  const auto end = waiting.begin() + std::min(waiting.size(), ahead);
  auto of_mine = [&](const Job& job) { return job.group == process.group; };
  auto of_nobody = [&](const Job& job) {
    return std::ranges::none_of(crew->processes,
                                [&](const Process& p) { return p.job && p.group == job.group; });
  };
  auto kept_here = [&](const Job& job) {
    return job.large && std::ranges::any_of(crew->processes, [&](const Process& p) {
             return p.pid >= 0 && p.group == job.group && ShareGpu(*crew, p, process);
           });
  };
  auto found = std::find_if(waiting.begin(), end, of_mine);
  if (found == end) {
    found = std::find_if(waiting.begin(), end, [&](const Job& j) { return of_nobody(j) && !kept_here(j); });
  }
  if (found == end) found = std::find_if(waiting.begin(), end, [&](const Job& j) { return !kept_here(j); });
  return found == end ? waiting.end() : found;
}

void JudgePool::Assign(Crew* crew) {
  for (Process& process : crew->processes) {
    const bool ahead = crew == &first_ && !second_.processes.empty() &&
                       second_.waiting.size() >= kWaitingPerGpuJudge * second_.processes.size();
    if (process.job || crew->waiting.empty() || ahead) continue;
    if (process.pid > 0 && HasHungUp(process.fd.get())) Stop(crew, &process);  // takes no job along
    if (process.pid < 0) Start(crew, &process);
    const auto chosen = Choose(crew, process);
    if (chosen == crew->waiting.end()) continue;
    process.job = std::move(*chosen);
    crew->waiting.erase(chosen);
    process.group = process.job->group;
    ++crew->busy;
    const double limit = process.job->budget_seconds + grace_seconds_;
    process.deadline = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(limit * 1000));
    // A judge that is gone shows when its reply is read.
    SendEncoded(process.fd.get(), process.job->frame, kPatience);
  }
}

std::optional<JudgeReply> JudgePool::Next(double timeout_seconds) {
  const auto give_up = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(timeout_seconds * 1000));
  if (unfinished() > 0) Begin();
  while (true) {
    Assign(&second_);
    Assign(&first_);
    if (first_.busy + second_.busy == 0) return std::nullopt;
    auto wake = give_up;
    std::vector<pollfd> fds;
    std::vector<std::pair<Crew*, Process*>> polled;
    for (Crew* crew : {&second_, &first_}) {
      for (Process& process : crew->processes) {
        if (!process.job) continue;
        if (Clock::now() >= process.deadline) {
          return Bury(crew, &process, Outcome::kTimeout,
                      fmt::format("not done {:.0f} s after its budget of {:.0f} s; its judge was killed",
                                  grace_seconds_, process.job->budget_seconds));
        }
        wake = std::min(wake, process.deadline);
        fds.push_back({process.fd.get(), POLLIN, 0});
        polled.emplace_back(crew, &process);
      }
    }
    const double wait = std::chrono::duration<double, std::milli>(wake - Clock::now()).count();
    const int ready = poll(fds.data(), fds.size(), static_cast<int>(std::ceil(std::max(0.0, wait))));
    if (ready < 0) return std::nullopt;  // a signal: the caller looks at its flag
    for (size_t i = 0; i < fds.size() && ready > 0; ++i) {
      if (!fds[i].revents) continue;
      if (auto reply = Collect(polled[i].first, polled[i].second)) return reply;
    }
    if (Clock::now() >= give_up) return std::nullopt;
  }
}

// A candidate may have overwritten its judge's memory, so what comes back may be anything.
std::optional<JudgeReply> JudgePool::Collect(Crew* crew, Process* process) {
  std::string fault;
  try {
    if (std::optional<json> message = ReceiveFrame(process->fd.get(), kPatience)) {
      Job& job = *process->job;
      if (message->contains("find")) {
        Answer(message->at("find"), process);
        return std::nullopt;
      }
      if (message->value("again", false) && !job.again) {
        job.again = true;
        job.cache_key.clear();
        crew->waiting.push_front(std::move(job));
        Stop(crew, process);
        return std::nullopt;
      }
      if (message->contains("plan")) job.plan = std::move(message->at("plan"));
      for (const json& note : message->value("jail_notes", json::array())) job.notes.push_back(note);
      const bool last = message->value("last", false);
      std::optional<JudgeReply> reply;
      if (crew == &first_ && !second_.processes.empty() && message->contains("handover")) {
        // Read before the job leaves: what is no hand-over is answered under its name.
        std::string group = message->at("group");
        const bool large = message->at("large");
        Job next = std::move(job);
        next.frame = EncodeFrame({{"handover", std::move(message->at("handover"))}});
        next.group = std::move(group);
        next.large = large;
        second_.waiting.push_back(std::move(next));
      } else {
        reply = ReplyFrom(job.id, *message);
        Keep(job, *message, &*reply);
        if (!job.plan.is_null()) reply->plan = ParsePlan(job.plan);
      }
      if (last) {
        Stop(crew, process);
      } else {
        process->job.reset();
        --crew->busy;
      }
      return reply;
    }
  } catch (const std::exception& error) {
    fault = fmt::format("the process that replayed it sent something that is no reply: {}", error.what());
  }
  return Bury(crew, process, Outcome::kKilled, fault);
}

// A judge asks before it replays the candidate, which could say a key of its choice afterwards.
void JudgePool::Answer(const std::string& key, Process* process) {
  Job& job = *process->job;
  if (!cache_options_ || !job.cache_key.empty()) throw FormatError("nobody may ask for a verdict here");
  job.cache_key = key;
  const std::optional<Verdict> verdict = Cache().Find(key, job.source);
  job.found = verdict.has_value();
  SendFrame(process->fd.get(), {{"found", verdict ? verdict->ToJson() : json()}}, kPatience);
}

// Keeps a verdict that was made now, and then adds what is of this run alone.
void JudgePool::Keep(const Job& job, const json& message, JudgeReply* reply) {
  std::vector<std::string> notes = job.notes;
  if (!job.cache_key.empty() && !job.found && !reply->reference_failed) {
    Verdict verdict = Verdict::FromJson(reply->verdict);
    verdict.hurried = message.value("hurried", true);
    Cache().Keep(job.cache_key, job.source, verdict);
    if (const std::string warning = Cache().TakeWarning(); !warning.empty()) notes.push_back(warning);
  }
  for (const std::string& note : notes) reply->verdict.at("notes").push_back(note);
}

// The verdict of a job that took its judge with it. An empty reason: how the judge ended says it.
JudgeReply JudgePool::Bury(Crew* crew, Process* process, Outcome outcome, const std::string& reason) {
  const Job job = std::move(*process->job);
  const int status = Stop(crew, process);
  Verdict verdict{
      .outcome = outcome, .reason = reason, .fp32_precision = job.fp32_precision, .seed = job.seed};
  if (reason.empty()) {
    verdict.reason = fmt::format("the process that replayed it ended: {}", DescribeWaitStatus(status));
    if (WIFSIGNALED(status)) verdict.evidence["signal"] = WTERMSIG(status);
  }
  return {
      .id = job.id, .verdict = verdict.ToJson(), .outcome = std::string(OutcomeName(outcome)), .plan = {}};
}

}  // namespace tritogen
