#include "cli/interrupt.h"

#include <signal.h>

namespace tritogen {
namespace {

volatile sig_atomic_t interrupted = 0;

}  // namespace

void CatchInterrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    interrupted = 1;
    signal(SIGINT, SIG_DFL);  // the next one ends it, should nobody look at the flag
  };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool Interrupted() {
  return interrupted;
}

}  // namespace tritogen
