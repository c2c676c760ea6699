#include "cli/interrupt.h"
#include "cli/exit_code.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

namespace tritogen {
namespace {

void RaiseAll(std::initializer_list<int> numbers) {
  CatchInterrupt();
  for (const int number : numbers) raise(number);
  std::exit(Interrupted() ? kInterruptedExit : 1);
}

TEST(Interrupt, SetsAFlag) {
  EXPECT_EXIT(RaiseAll({SIGINT}), testing::ExitedWithCode(kInterruptedExit), "");
  EXPECT_EXIT(RaiseAll({SIGTERM, SIGTERM}), testing::ExitedWithCode(kInterruptedExit), "");
}

TEST(Interrupt, ByCtrlCAgainEndsTheProcess) {
  EXPECT_EXIT(RaiseAll({SIGINT, SIGINT}), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(RaiseAll({SIGTERM, SIGINT}), testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace tritogen
