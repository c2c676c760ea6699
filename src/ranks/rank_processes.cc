#include "ranks/rank_processes.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/process.h"
#include "ranks/rank_place.h"

namespace tritogen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int32_t kUserFault = -1, kFault = -2;  // what a process ends with: the text
constexpr int kTickMillis = 200;                 // between two looks at the clock
constexpr auto kEndSeconds = std::chrono::seconds(5);
// Rank 0 often fails for the same reason as others, and knows it better: then it is heard first.
constexpr auto kGrace = std::chrono::seconds(1);

Clock::time_point In(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Its exit status when it ends before `end`.
std::optional<int> WaitFor(pid_t pid, Clock::time_point end) {
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) return status;
    if ((ended < 0 && errno != EINTR) || Clock::now() > end) return std::nullopt;
    usleep(2000);
  }
}

// By a signal (proc_pid_stat(5): the state behind the name in parentheses).
bool IsStopped(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line.substr(name_end, 3) == ") T";
}

void BeRank(int rank, pid_t first) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != first) _exit(1);
  prctl(PR_SET_NAME, fmt::format("tritogen-rank{}", rank).c_str());
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  const UniqueFd null = OpenNull();
  dup2(null.get(), 0);
  dup2(2, 1);  // what libraries log must not come between rank 0's own output
}

}  // namespace

RankProcesses::RankProcesses(int size, const Body& body) {
  for (int rank = 1; rank < size; ++rank) Start(rank, size, body);
}

void RankProcesses::Start(int rank, int size, const Body& body) {
  auto [here, there] = RankChannel::MakePair();
  std::fflush(nullptr);
  const pid_t first = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw InternalError(fmt::format("fork: {}", std::strerror(errno)));
  if (pid > 0) {
    ranks_.push_back({.pid = pid, .channel = std::move(here)});
    return;
  }
  BeRank(rank, first);
  here.Close();
  for (Rank& other : ranks_) other.channel.Close();  // only rank 0 holds these ends
  int status = 0;
  try {
    body(rank, &there);
  } catch (const UserError& error) {
    there.Send(kUserFault, error.what());
    status = 1;
  } catch (const std::exception& error) {
    there.Send(kFault, error.what());
    status = 1;
  }
  _exit(status);  // not through the ends of libraries, which may wait for other ranks
}

RankProcesses::~RankProcesses() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  wake_.write.Reset();
  const bool at_work = thread_.joinable() && lost_.empty();  // they take messages, and see that it is over
  if (thread_.joinable()) thread_.join();
  for (Rank& rank : ranks_) rank.channel.Close();
  const auto end = Clock::now() + kEndSeconds;
  for (const Rank& rank : ranks_) {
    if (rank.reaped || (at_work && WaitFor(rank.pid, end))) continue;
    kill(rank.pid, SIGKILL);
    while (waitpid(rank.pid, nullptr, 0) < 0 && errno == EINTR) continue;
  }
}

std::string RankProcesses::Name(int rank) const {
  return fmt::format("rank {} of {} (process {})", rank, size(), ranks_[rank - 1].pid);
}

// REQUIRES: its channel is closed.
std::string RankProcesses::Ended(int rank) {
  Rank& ended = ranks_[rank - 1];
  const std::string name = Name(rank);
  const std::optional<int> status = WaitFor(ended.pid, Clock::now() + kGrace);
  if (!status) return name + " does not answer any more";
  ended.reaped = true;
  return fmt::format("{} has ended: {}", name, DescribeWaitStatus(*status));
}

// What a rank ended with.
void RankProcesses::ThrowFault(int rank, const std::optional<RankChannel::Message>& message) {
  if (!message) throw RankLost(Ended(rank));
  const std::string text = fmt::format("{}: {}", Name(rank), message->bytes);
  if (message->kind == kUserFault) throw UserError(text);
  if (message->kind == kFault) throw InternalError(text);
  TRITOGEN_CHECK(false);
}

void RankProcesses::Send(int32_t kind, std::string_view bytes) {
  for (int rank = 1; rank < size(); ++rank) {
    RankChannel& channel = ranks_[rank - 1].channel;
    if (channel.Send(kind, bytes)) continue;
    if (!thread_.joinable()) ThrowFault(rank, channel.Receive());
    std::unique_lock lock(mutex_);  // who watches knows more, soon
    changed_.wait_for(lock, kEndSeconds, [this] { return !lost_.empty(); });
    if (users_fault_) throw UserError(lost_);
    throw RankLost(lost_.empty() ? Name(rank) + " does not answer any more" : lost_);
  }
}

void RankProcesses::AwaitReady(double seconds) {
  const auto end = In(seconds);
  for (int rank = 1; rank < size(); ++rank) {
    RankChannel& channel = ranks_[rank - 1].channel;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd ready{channel.fd(), POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(std::max<int64_t>(left, 0))) == 0)
      throw RankLost(fmt::format("{} is not ready {:.3g} s after rank 0", Name(rank), seconds));
    const auto message = channel.Receive();
    if (!message || message->kind != kReady) ThrowFault(rank, message);
  }
}

void RankProcesses::StartWatching(Watch watch) {
  watch_ = std::move(watch);
  wake_ = MakePipe();
  thread_ = std::thread([this] { WatchThem(); });
}

void RankProcesses::WatchThem() {
  try {
    while (true) {
      std::vector<pollfd> ends = {{wake_.read.get(), POLLIN, 0}};
      for (const Rank& rank : ranks_) ends.push_back({rank.channel.fd(), POLLIN, 0});
      poll(ends.data(), ends.size(), kTickMillis);
      std::optional<Work> late;
      {
        const std::lock_guard lock(mutex_);
        if (stops_) return;
        if (work_ && Clock::now() > work_->end) late = work_;
      }
      for (int rank = 1; rank < size(); ++rank) {
        if (ends[rank].revents != 0) Take(rank);
      }
      if (late) throw RankLost(Hanging(*late));
    }
  } catch (const UserError& error) {
    Lose(error.what(), /*users_fault=*/true);
  } catch (const std::exception& error) {
    Lose(error.what(), /*users_fault=*/false);
  }
}

void RankProcesses::Take(int rank) {
  const auto message = ranks_[rank - 1].channel.Receive();
  if (!message || message->kind < 0) ThrowFault(rank, message);
  watch_.on_message(rank, *message);
}

// A process that is stopped, or does not take its messages, is the one that hangs; otherwise a device does.
std::string RankProcesses::Hanging(const Work& work) const {
  std::string who;
  for (int rank = 1; rank < size(); ++rank) {
    const bool stopped = IsStopped(ranks_[rank - 1].pid);
    if (!stopped && ranks_[rank - 1].channel.UnreadBytes() == 0) continue;
    who += fmt::format("{}{} {}", who.empty() ? "" : ", ", Name(rank),
                       stopped ? "is stopped" : "does not take messages");
  }
  if (who.empty()) who = "every rank takes messages, so a GPU or the connection between GPUs hangs";
  return fmt::format("{} has not ended within {:.3g} s: {}", work.what, work.seconds, who);
}

void RankProcesses::Lose(const std::string& why, bool users_fault) {
  {
    std::unique_lock lock(mutex_);
    lost_ = why;
    users_fault_ = users_fault;
    changed_.notify_all();
    if (changed_.wait_for(lock, kGrace, [this] { return stops_; })) return;
  }
  for (Rank& rank : ranks_) {
    if (!rank.reaped) kill(rank.pid, SIGKILL);
  }
  for (Rank& rank : ranks_) rank.reaped = rank.reaped || WaitFor(rank.pid, Clock::now() + kGrace);
  if (watch_.on_lost) watch_.on_lost(why, users_fault);
}

RankProcesses::Working::Working(RankProcesses* processes, std::string what, double seconds)
    : processes_(processes) {
  const std::lock_guard lock(processes_->mutex_);
  processes_->work_ = Work{std::move(what), seconds, In(seconds)};
}

RankProcesses::Working::~Working() {
  const std::lock_guard lock(processes_->mutex_);
  processes_->work_.reset();
}

}  // namespace tritogen
