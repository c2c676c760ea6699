#include "cli/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "cli/exit_code.h"

namespace tritogen {
namespace {

constexpr std::chrono::milliseconds kLater{700};

void RaiseAll(std::initializer_list<int> numbers, std::chrono::milliseconds between = {}) {
  CatchInterrupt();
  for (const int number : numbers) {
    raise(number);
    std::this_thread::sleep_for(between);
  }
  std::exit(Interrupted() ? kInterruptedExit : 1);
}

TEST(Interrupt, SetsAFlag) {
  EXPECT_EXIT(RaiseAll({SIGINT}), testing::ExitedWithCode(kInterruptedExit), "");
  EXPECT_EXIT(RaiseAll({SIGTERM, SIGTERM}, kLater), testing::ExitedWithCode(kInterruptedExit), "");
}

TEST(Interrupt, ThatComesTwiceAtOnceIsOne) {
  EXPECT_EXIT(RaiseAll({SIGINT, SIGINT}), testing::ExitedWithCode(kInterruptedExit), "");
}

TEST(Interrupt, ByCtrlCAgainEndsTheProcess) {
  EXPECT_EXIT(RaiseAll({SIGINT, SIGINT}, kLater), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(RaiseAll({SIGTERM, SIGINT}, kLater), testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace tritogen
