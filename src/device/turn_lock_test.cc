#include "device/turn_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/fd.h"
#include "base/temp_dir.h"

namespace tritogen {
namespace {

// Until it holds, for some seconds at the most.
template <typename F>
bool Eventually(const F& holds) {
  for (int i = 0; i < 5000 && !holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return holds();
}

class TurnLocks : public testing::Test {
 protected:
  // A process that takes the turn and keeps it until it is killed.
  pid_t StartTaker() const {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    TurnLock lock(path_);
    lock.Take();
    WriteDone();
    while (true) pause();
  }
  void WriteDone() const { (void)!write(done_.write.get(), ".", 1); }
  void AwaitDone() const {
    char byte;
    EXPECT_EQ(read(done_.read.get(), &byte, 1), 1);
  }
  static void Kill(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }

  const TempDir dir_;
  const std::string path_ = dir_.path() / "gpu";
  const Pipe done_ = MakePipe();
};

TEST_F(TurnLocks, AreHeldByOneThatSeesWhetherAnotherWaits) {
  std::optional<TurnLock> first(path_);
  first->Take();
  EXPECT_FALSE(first->SomebodyWaits());
  EXPECT_FALSE(first->SomebodyWaits()) << "asking does not close the gate";
  const pid_t taker = StartTaker();
  EXPECT_TRUE(Eventually([&] { return first->SomebodyWaits(); }));
  EXPECT_TRUE(first->SomebodyWaits());
  first.reset();
  AwaitDone();
  Kill(taker);
}

TEST_F(TurnLocks, AreFreeAgainWhenWhoHoldsOrAwaitsThemIsKilled) {
  const pid_t holder = StartTaker();
  AwaitDone();
  const pid_t waits = StartTaker();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  Kill(waits);
  Kill(holder);
  TurnLock lock(path_);
  lock.Take();
  EXPECT_FALSE(lock.SomebodyWaits());
}

// As a process does that was forked in a turn and ends later.
TEST_F(TurnLocks, EndWithTheirOwnerAlone) {
  std::optional<TurnLock> first(path_);
  first->Take();
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  first.reset();
  TurnLock second(path_);
  second.Take();  // would wait for ever
  Kill(child);
  EXPECT_FALSE(second.SomebodyWaits());
}

TEST_F(TurnLocks, MayBeLockedByEverybody) {
  const TurnLock lock(path_);
  for (const char* end : {".gate", ".lock"}) {
    EXPECT_EQ(std::filesystem::status(path_ + end).permissions(), std::filesystem::perms(0444));
  }
  EXPECT_THROW(TurnLock(dir_.path() / "none" / "gpu"), InternalError);
}

}  // namespace
}  // namespace tritogen
