#include "cli/interrupt.h"

#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstdint>

namespace tritogen {
namespace {

std::atomic<int64_t> interrupted_at = 0;  // nanoseconds of the machine's uptime; 0: not yet
static_assert(std::atomic<int64_t>::is_always_lock_free);

int64_t Now() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// A second Ctrl-C ends the program, should nobody look at the flag. One signal may come twice: GNU timeout
// sends it to the process and to its group.
void Take(int signal_number) {
  constexpr int64_t kOneSignal = 500'000'000;
  const int64_t now = Now(), first = interrupted_at;
  if (first == 0) {
    interrupted_at = now;
  } else if (signal_number == SIGINT && now - first > kOneSignal) {
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);  // behind this handler
  }
}

}  // namespace

void CatchInterrupt() {
  struct sigaction action = {};
  action.sa_handler = Take;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool Interrupted() {
  return interrupted_at != 0;
}

}  // namespace tritogen
