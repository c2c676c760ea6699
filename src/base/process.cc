#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "base/fd.h"

namespace tritogen {
namespace {

using Clock = std::chrono::steady_clock;

pid_t Spawn(const std::vector<std::string>& argv, bool in_own_group, int output, int error) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, error, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (in_own_group) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // group 0: its own
  pid_t pid = -1;
  int failure = posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw UserError(fmt::format("cannot run {}: {}", argv[0], std::strerror(failure)));
  return pid;
}

int Wait(pid_t pid, int* status, int options = 0) {
  int ended;
  do ended = waitpid(pid, status, options);
  while (ended < 0 && errno == EINTR);
  return ended;
}

// Reads both streams until they end or the deadline passes; false when it passed.
bool Drain(UniqueFd* output, UniqueFd* error, Clock::time_point deadline, size_t max_bytes,
           ProcessResult* result) {
  SetNonBlocking(output->get());
  SetNonBlocking(error->get());
  while (output->valid() || error->valid()) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd polls[2] = {{output->get(), POLLIN, 0}, {error->get(), POLLIN, 0}};  // negative ones are skipped
    if (poll(polls, 2, static_cast<int>(std::min<int64_t>(left, 1000))) < 0) continue;  // a signal
    if (polls[0].revents != 0 && !ReadAvailable(output->get(), &result->output)) output->Reset();
    if (polls[1].revents != 0 && !ReadAvailable(error->get(), &result->error)) error->Reset();
    result->output.resize(std::min(result->output.size(), max_bytes));
    result->error.resize(std::min(result->error.size(), max_bytes));
  }
  return true;
}

// Waits until the deadline for a program that may have closed its streams and lives on; false when it still
// lives.
bool WaitUntil(pid_t pid, Clock::time_point deadline, int* status) {
  while (true) {
    if (Wait(pid, status, WNOHANG) != 0) return true;
    if (Clock::now() >= deadline) return false;
    usleep(1000);
  }
}

}  // namespace

ProcessResult RunProcess(const std::vector<std::string>& argv, const ProcessOptions& options) {
  TRITOGEN_CHECK(!argv.empty());
  Pipe output = MakePipe(), error = MakePipe();
  ProcessResult result;
  const pid_t pid = Spawn(argv, options.in_own_group, output.write.get(), error.write.get());
  output.write.Reset();
  error.write.Reset();
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(options.wall_seconds));
  int status = 0;
  if (!Drain(&output.read, &error.read, deadline, options.max_output_bytes, &result) ||
      !WaitUntil(pid, deadline, &status)) {
    result.timed_out = true;
    kill(options.in_own_group ? -pid : pid, SIGKILL);  // its children, too, where only they are in its group
    Wait(pid, &status);
    return result;
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

std::string DescribeWaitStatus(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

}  // namespace tritogen
