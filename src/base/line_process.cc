#include "base/line_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/error.h"

namespace tritogen {

void LineProcess::Start() {
  Pipe to = MakePipe(), from = MakePipe();
  UniqueFd null = OpenNull();
  std::vector<char*> argv;
  for (std::string& word : argv_) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {  // nothing but system calls from here on
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    setpgid(0, 0);  // Ctrl-C is for the caller, who ends it
    if (dup2(to.read.get(), 0) < 0 || dup2(from.write.get(), 1) < 0 || dup2(null.get(), 2) < 0) _exit(127);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  if (pid_ < 0) throw UserError(fmt::format("cannot start {}: no process can be made", argv_[0]));
  in_ = std::move(to.write);
  out_ = std::move(from.read);
  SetNonBlocking(in_.get());
  SetNonBlocking(out_.get());
  unread_.clear();
}

void LineProcess::Stop() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  in_.Reset();
  out_.Reset();
}

bool LineProcess::Ask(const std::string& line, double wall_seconds, std::string* answer) {
  using Clock = std::chrono::steady_clock;
  if (!running()) Start();
  // A program that ended must be an answer, not a signal to us.
  struct sigaction ignore = {}, before;
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  const auto deadline = Clock::now() + std::chrono::duration<double>(wall_seconds);
  std::string unsent = line + "\n";
  bool open = true;
  while (open && unread_.find('\n') == std::string::npos && unread_.size() <= kMaxAnswerBytes) {
    const double left = std::chrono::duration<double>(deadline - Clock::now()).count();
    if (left <= 0) break;
    pollfd ends[] = {{out_.get(), POLLIN, 0}, {in_.get(), POLLOUT, 0}};
    const int ready = poll(ends, unsent.empty() ? 1 : 2, static_cast<int>(1000 * left) + 1);
    if (ready < 0 && errno != EINTR) break;
    if (ready <= 0) continue;
    if (!unsent.empty() && ends[1].revents != 0) {
      const ssize_t sent = write(in_.get(), unsent.data(), unsent.size());
      if (sent > 0) unsent.erase(0, static_cast<size_t>(sent));
      if (sent < 0 && errno != EAGAIN && errno != EINTR) break;
    }
    if (ends[0].revents != 0) open = ReadAvailable(out_.get(), &unread_);
  }
  sigaction(SIGPIPE, &before, nullptr);
  const size_t end = unread_.find('\n');
  if (end == std::string::npos) {
    Stop();
    return false;
  }
  *answer = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return true;
}

}  // namespace tritogen
