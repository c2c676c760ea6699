#include "cli/progress.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/opening_notice.h"

namespace tritogen {
namespace {

// A screen in memory and a clock that the test moves.
class ProgressTest : public testing::Test {
 protected:
  ProgressTest() : file_(open_memstream(&bytes_, &size_)) {}
  ~ProgressTest() override {
    std::fclose(file_);
    std::free(bytes_);
  }
  Screen ScreenThatIs(bool terminal) {
    return {.out = file_, .terminal = terminal, .now = [this] { return now_; }};
  }
  void Wait(double seconds) {
    now_ += std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(seconds));
  }
  std::string Text() {
    std::fflush(file_);
    return std::string(bytes_, size_);
  }

 private:
  char* bytes_ = nullptr;
  size_t size_ = 0;
  std::FILE* file_;
  std::chrono::steady_clock::time_point now_;
};

TEST_F(ProgressTest, TellsRateAndTimeLeft) {
  Progress progress("verify", 100, ScreenThatIs(false));
  Wait(20);
  progress.Set(10, "4 passed");
  EXPECT_EQ(Text(), "verify 10/100  0.5/s  3:00 min left  4 passed\n");
}

TEST_F(ProgressTest, ClaimsNoTimeLeftBeforeTheFirstIsDone) {
  Progress progress("tasks", 18, ScreenThatIs(false));
  Wait(20);
  progress.Set(0, "2 wait for judges");
  EXPECT_EQ(Text(), "tasks 0/18  0.0/s  2 wait for judges\n");
}

TEST_F(ProgressTest, WritesWholeLinesSeldomWhereThereIsNoTerminal) {
  {
    Progress progress("verify", 1000, ScreenThatIs(false));
    for (int done = 1; done <= 25; ++done) {
      Wait(1);
      progress.Clear();
      progress.Set(done);
    }
  }
  EXPECT_EQ(Text(), "verify 10/1000  1.0/s  16:30 min left\nverify 20/1000  1.0/s  16:20 min left\n");
}

TEST_F(ProgressTest, AlwaysShowsTheEnd) {
  Progress progress("verify", 2, ScreenThatIs(false));
  Wait(1);
  progress.Set(1);
  EXPECT_EQ(Text(), "");
  progress.Set(2);
  EXPECT_EQ(Text(), "verify 2/2  2.0/s  0 s left\n");
}

TEST_F(ProgressTest, RedrawsItsLineOnATerminalAndLeavesItAtTheEnd) {
  {
    Progress progress("verify", 4, ScreenThatIs(true));
    Wait(1);
    progress.Set(2);
    Wait(1);
    progress.Set(4);
  }
  const std::string clear = "\r\033[K";
  EXPECT_EQ(Text(), clear + "[############............] verify 2/4  2.0/s  1 s left" + clear +
                        "[########################] verify 4/4  2.0/s  0 s left\n");
}

TEST_F(ProgressTest, GoesAwayForOtherOutput) {
  Progress progress("verify", 4, ScreenThatIs(true));
  progress.Clear();
  EXPECT_EQ(Text(), "") << "nothing was drawn yet";
  Wait(1);
  progress.Set(1);
  progress.Clear();
  EXPECT_TRUE(Text().ends_with("\r\033[K"));
}

TEST_F(ProgressTest, BearsNothingToDo) {
  Progress progress("verify", 0, ScreenThatIs(true));
  progress.Set(0);
  EXPECT_NE(Text().find("verify 0/0"), std::string::npos);
}

TEST_F(ProgressTest, OpeningSaysNothingWhileItIsQuick) {
  OpeningLine line(ScreenThatIs(true));
  line.Set({"opening the GPU"});
  Wait(2);
  line.Tick();
  line.Clear();
  EXPECT_EQ(Text(), "");
}

TEST_F(ProgressTest, OpeningIsRedrawnOnATerminalAndGoesAway) {
  OpeningLine line(ScreenThatIs(true));
  line.Set({"opening the GPU"});
  Wait(2);
  line.Set({"compiling kernels", 0, 64});
  Wait(30);
  line.Set({"compiling kernels", 12, 64});
  line.Tick();
  EXPECT_EQ(Text(), "\r\033[Kcompiling kernels 12/64, 30 s");
  line.Clear();
  EXPECT_EQ(Text(), "\r\033[Kcompiling kernels 12/64, 30 s\r\033[K");
}

TEST_F(ProgressTest, OpeningIsALineEveryTenSecondsElsewhere) {
  OpeningLine line(ScreenThatIs(false));
  line.Set({"connecting the GPUs"});
  for (int i = 0; i < 50; ++i) {
    Wait(0.5);
    line.Tick();
  }
  line.Clear();
  EXPECT_EQ(Text(), "connecting the GPUs, 10 s\nconnecting the GPUs, 20 s\n");
}

TEST(OpeningNotice, EndsItsThread) {
  std::FILE* none = std::fopen("/dev/null", "w");
  {
    OpeningNotice unused({.out = none, .terminal = false});
    OpeningNotice used({.out = none, .terminal = true});
    used.Set({"opening the GPU"});
  }
  std::fclose(none);
}

}  // namespace
}  // namespace tritogen
