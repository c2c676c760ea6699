#include "record/zygote.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/utf8.h"
#include "record/seccomp.h"

namespace tritogen {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kWarmUpLimit{180};
// The zygote kills at the wall-clock limit; when nothing is heard for this much longer, the zygote itself
// hangs.
constexpr std::chrono::seconds kZygoteGrace{10};
constexpr size_t kMaxOutputBytes = 16 << 10;
constexpr size_t kMaxControlBytes = 4096;

Clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

int MillisecondsUntil(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

// One living zygote process; its destructor kills it and waits.
class ZygoteProcess {
 public:
  // Starts it; the caller waits for Warm(). The thread that constructs must live as long as the zygote shall.
  ZygoteProcess(JailSpec spec, SeccompProfile profile) : log_(memfd_create("", MFD_CLOEXEC)) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::system_error(errno, std::generic_category(), "socketpair");
    control_.Reset(ends[0]);
    const UniqueFd far_end(ends[1]), filter = MakeSeccompFilter(profile), null = OpenNull();
    const timeval patience{5, 0};
    setsockopt(control_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    spec.fds = {null.get(), log_.get(), log_.get(), far_end.get(), filter.get()};
    if (auto refusal = StartJailed(spec, &pid_))
      throw UserError("the jail is refused by the kernel, " + refusal->Message());
    pidfd_.Reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  }

  ~ZygoteProcess() {
    if (pid_ <= 0) return;
    Kill();
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  }

  ZygoteProcess(const ZygoteProcess&) = delete;
  ZygoteProcess& operator=(const ZygoteProcess&) = delete;

  int pidfd() const { return pidfd_.get(); }
  int control() const { return control_.get(); }
  // Waits so long for its end.
  bool EndsWithin(std::chrono::milliseconds time) const {
    pollfd end{pidfd_.get(), POLLIN, 0};
    return poll(&end, 1, static_cast<int>(time.count())) > 0;
  }
  bool ended() const { return EndsWithin(std::chrono::milliseconds(0)); }
  int64_t address_bytes() const { return address_bytes_; }
  // By descriptor: in a forked process the pid may be somebody else's by now. One that may send no signals,
  // as judges may not, hangs up, which its maker's keeper sees.
  void Kill() const {
    shutdown(control_.get(), SHUT_RDWR);
    syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
  }

  // Waits for the first message. Throws UserError with what the zygote said when it fails.
  void Warm() {
    pollfd ready{control_.get(), POLLIN, 0};
    const Clock::time_point deadline = Clock::now() + kWarmUpLimit;
    int polled = -1;
    do polled = poll(&ready, 1, MillisecondsUntil(deadline));
    while (polled < 0 && errno == EINTR);  // by Ctrl-C, of which the caller hears
    if (polled <= 0) throw UserError("the Python worker did not start in time" + Log());
    char message[kMaxControlBytes];
    const ssize_t size = recv(control_.get(), message, sizeof message, 0);
    if (size <= 0) throw UserError("the Python worker ended while it started" + Log());
    const nlohmann::json map = DecodeMessagePack(std::string_view(message, size));
    if (map.contains("error"))
      throw UserError("the Python worker cannot start: " + map["error"].get<std::string>());
    address_bytes_ = ReadAddressBytes();
  }

  // False when the zygote is gone or does not listen. `fds`: request, reply, output, report, all the far
  // ends.
  bool Send(const nlohmann::json& limits, const std::array<int, 4>& fds) const {
    std::vector<uint8_t> body = nlohmann::json::to_msgpack(limits);
    iovec part{body.data(), body.size()};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof fds)] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(header), fds.data(), sizeof fds);
    return sendmsg(control_.get(), &message, MSG_NOSIGNAL) >= 0;
  }

  // What the zygote wrote to stderr, for a message.
  std::string Log() const {
    std::string text(64 << 10, '\0');
    const ssize_t size = pread(log_.get(), text.data(), text.size(), 0);
    text.resize(std::max<ssize_t>(size, 0));
    return text.empty() ? text : ":\n" + PrintableText(text, 4000);
  }

 private:
  // There is no /proc in the jail, so it is read here: RLIMIT_AS counts what a child inherits.
  int64_t ReadAddressBytes() const {
    int64_t pages = 0;
    std::ifstream(fmt::format("/proc/{}/statm", pid_)) >> pages;
    if (pages <= 0) throw UserError("cannot read the worker's size in /proc");
    return pages * sysconf(_SC_PAGESIZE);
  }

  UniqueFd control_, log_, pidfd_;
  pid_t pid_ = -1;
  int64_t address_bytes_ = 0;
};

// C++'s ends of one request's pipes, and what came out of them.
struct Exchange {
  UniqueFd reply, output, report;
  ChildEnd end;
  std::string report_bytes;
  bool overflowed = false;  // no reply is as long

  bool open() const { return reply.valid() || output.valid() || report.valid(); }

  // Waits for one event and reads. False when the deadline passed.
  bool Step(Clock::time_point deadline) {
    pollfd polls[3] = {{reply.get(), POLLIN, 0}, {output.get(), POLLIN, 0}, {report.get(), POLLIN, 0}};
    if (poll(polls, 3, MillisecondsUntil(deadline)) == 0) return false;
    if (polls[0].revents != 0 && !ReadAvailable(reply.get(), &end.reply)) reply.Reset();
    if (polls[1].revents != 0 && !ReadAvailable(output.get(), &end.output)) output.Reset();
    if (polls[2].revents != 0 && !ReadAvailable(report.get(), &report_bytes)) report.Reset();
    overflowed = end.reply.size() > kFrameHeaderBytes + kMaxFrameBytes;
    if (end.output.size() > 2 * kMaxOutputBytes) end.output.erase(0, end.output.size() - kMaxOutputBytes);
    return true;
  }
};

// Fills in how the child ended. Without a report the zygote died.
void ReadReport(Exchange* exchange) {
  ChildEnd& end = exchange->end;
  if (exchange->report_bytes.empty()) {
    end.how = ChildEnd::How::kZygoteEnded;
    end.problem = "the recording worker died";
    return;
  }
  const nlohmann::json report = DecodeFrame(exchange->report_bytes);
  end.status = report.at("status");
  end.cpu_seconds = report.at("cpu_seconds");
  end.problem = report.at("setup");
  if (!end.problem.empty()) end.how = ChildEnd::How::kNotStarted;
  if (report.at("killed_for") == "timeout") end.how = ChildEnd::How::kTimedOut;
}

}  // namespace

// A keeper thread owns the process: it starts it, waits for its death and starts the next. (The kernel ties
// the zygote's life to the thread that started it, so no caller's thread may do that.)
struct Zygote::Impl {
  Impl(JailSpec jail, SeccompProfile seccomp)
      : spec(std::move(jail)), profile(seccomp), stop(eventfd(0, EFD_CLOEXEC)) {
    keeper = std::thread([this] { Keep(); });
  }

  ~Impl() {
    const uint64_t one = 1;
    {
      std::lock_guard lock(mutex);
      stopping = true;
    }
    [[maybe_unused]] ssize_t told = write(stop.get(), &one, sizeof one);
    changed.notify_all();
    keeper.join();
  }

  void Keep() {
    std::unique_lock lock(mutex);
    while (!stopping) {
      lock.unlock();
      std::shared_ptr<ZygoteProcess> started;
      std::string failure;
      try {
        started = std::make_shared<ZygoteProcess>(spec, profile);
        started->Warm();
      } catch (const std::exception& error) {
        failure = error.what();
      }
      lock.lock();
      problem = failure;
      process = failure.empty() ? started : nullptr;
      ++attempts;
      changed.notify_all();
      if (process == nullptr) {  // try again when somebody asks
        wanted = false;
        changed.wait(lock, [this] { return wanted || stopping; });
        continue;
      }
      lock.unlock();
      WaitForDeath(*started);
      lock.lock();
      process = nullptr;
    }
  }

  void WaitForDeath(const ZygoteProcess& living) const {
    pollfd polls[3] = {{living.pidfd(), POLLIN, 0}, {stop.get(), POLLIN, 0}, {living.control(), 0, 0}};
    while (poll(polls, 3, -1) < 0 && errno == EINTR) {
    }
    if (polls[2].revents != 0) living.Kill();
  }

  std::vector<int> Fds(HeldLocks* held) const {
    std::unique_lock lock(mutex);
    std::vector<int> fds;
    if (process != nullptr) fds = {process->control(), process->pidfd()};
    if (held != nullptr) held->push_back(std::move(lock));
    return fds;
  }

  // In a forked process there is no keeper, and nobody to wait for.
  bool Lost() const {
    std::lock_guard lock(mutex);
    return getpid() != maker && (lost || process == nullptr || process->ended());
  }

  // A warm process other than `dead`; null, with the reason, when none can be started.
  std::shared_ptr<ZygoteProcess> Get(const ZygoteProcess* dead, std::string* why) {
    std::unique_lock lock(mutex);
    auto usable = [&] { return process != nullptr && process.get() != dead && !process->ended(); };
    const int seen = attempts;
    if (!usable() && getpid() != maker) {
      // Its pipes come to their end before it does; until then the maker would share it with others.
      lost = process == nullptr || process->EndsWithin(kZygoteGrace);
      *why = "the worker ended, and this process cannot start another";
      return nullptr;
    }
    if (!usable()) {
      wanted = true;
      changed.notify_all();
      changed.wait(lock, [&] { return usable() || (attempts != seen && process == nullptr); });
    }
    *why = problem;
    return process;
  }

  static Exchange Begin(const ZygoteProcess& zygote, std::string_view request, const ChildLimits& limits);
  // `zygote`: the process of an attempt before this one, replaced by the one used now.
  ChildEnd RunOnce(std::string_view request, const ChildLimits& limits,
                   std::shared_ptr<ZygoteProcess>* zygote);

  const JailSpec spec;
  const SeccompProfile profile;
  const pid_t maker = getpid();
  const UniqueFd stop;  // wakes the keeper
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<ZygoteProcess> process;  // null while one starts
  std::string problem;                     // why there is none
  int attempts = 0;                        // to start one that ended, well or not
  bool wanted = false, stopping = false;
  bool lost = false;  // of a forked process: there was none for it when it asked
  std::thread keeper;
};

// Makes the pipes of one request and sends their far ends. When sending fails they are all closed, and
// reading says so.
Exchange Zygote::Impl::Begin(const ZygoteProcess& zygote, std::string_view request,
                             const ChildLimits& limits) {
  const UniqueFd request_file = MakeMemoryFile(request);
  const nlohmann::json bounds = {{"wall_seconds", limits.wall_seconds},
                                 {"cpu_seconds", static_cast<int64_t>(std::ceil(limits.cpu_seconds))},
                                 {"address_bytes", zygote.address_bytes() + limits.memory_bytes}};
  Pipe reply = MakePipe(), output = MakePipe(), report = MakePipe();
  for (Pipe* pipe : {&reply, &output, &report}) SetNonBlocking(pipe->read.get());
  zygote.Send(bounds, {request_file.get(), reply.write.get(), output.write.get(), report.write.get()});
  Exchange exchange;
  exchange.reply = std::move(reply.read);
  exchange.output = std::move(output.read);
  exchange.report = std::move(report.read);
  return exchange;
}

ChildEnd Zygote::Impl::RunOnce(std::string_view request, const ChildLimits& limits,
                               std::shared_ptr<ZygoteProcess>* zygote) {
  std::string why;
  *zygote = Get(zygote->get(), &why);
  if (*zygote == nullptr) {
    ChildEnd end;
    end.how = ChildEnd::How::kZygoteEnded;
    end.problem = why;
    return end;
  }
  Exchange exchange = Begin(**zygote, request, limits);
  const Clock::time_point deadline = Clock::now() + Seconds(limits.wall_seconds) + kZygoteGrace;
  while (exchange.open()) {
    if (!exchange.Step(deadline)) {
      (*zygote)->Kill();
      exchange.end.how = ChildEnd::How::kTimedOut;
      return std::move(exchange.end);
    }
    if (exchange.overflowed) {
      exchange.end.how =
          ChildEnd::How::kOverflowed;  // closing the report pipe tells the zygote to kill the child
      return std::move(exchange.end);
    }
  }
  ReadReport(&exchange);
  if (exchange.end.how == ChildEnd::How::kZygoteEnded) (*zygote)->Kill();  // whatever is left of it
  return std::move(exchange.end);
}

Zygote::Zygote(JailSpec spec, SeccompProfile profile)
    : impl_(std::make_unique<Impl>(std::move(spec), profile)) {}

Zygote::~Zygote() = default;

bool Zygote::Lost() const {
  return impl_->Lost();
}

std::vector<int> Zygote::fds(HeldLocks* held) const {
  return impl_->Fds(held);
}

bool Zygote::Await() {
  std::string why;
  return impl_->Get(nullptr, &why) != nullptr;
}

void Zygote::Require() {
  std::string why;
  if (impl_->Get(nullptr, &why) == nullptr) throw UserError(why);
}

ChildEnd Zygote::Run(std::string_view request, const ChildLimits& limits) {
  std::shared_ptr<ZygoteProcess> zygote;
  ChildEnd end = impl_->RunOnce(request, limits, &zygote);
  // Somebody else's program may have brought the zygote down; the second time it is this one's own fault.
  if (end.how == ChildEnd::How::kZygoteEnded) end = impl_->RunOnce(request, limits, &zygote);
  return end;
}

}  // namespace tritogen
