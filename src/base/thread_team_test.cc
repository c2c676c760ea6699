#include "base/thread_team.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

namespace tritogen {
namespace {

TEST(ThreadTeam, EachNumberIsTakenOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadTeam team(threads);
    EXPECT_EQ(team.size(), threads);
    for (const int64_t count : {0, 1, 7, 64, 1000}) {
      for (const int64_t grain : {1, 3, 64, 2000}) {
        std::vector<std::atomic<int>> taken(static_cast<size_t>(count));
        team.For(count, grain, [&](int thread, int64_t begin, int64_t end) {
          EXPECT_TRUE(thread >= 0 && thread < threads);
          EXPECT_TRUE(begin % grain == 0 || threads == 1);
          for (int64_t i = begin; i < end; ++i) ++taken[static_cast<size_t>(i)];
        });
        for (const auto& times : taken) EXPECT_EQ(times, 1);
      }
    }
  }
}

TEST(ThreadTeam, SleepsAndWakesAndLoopsOften) {
  ThreadTeam team(3);
  std::atomic<int64_t> sum = 0;
  for (int loop = 0; loop < 20000; ++loop) {
    if (loop % 5000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    team.For(6, 1, [&](int, int64_t begin, int64_t) { sum += begin; });
  }
  EXPECT_EQ(sum, 20000 * 15);
}

TEST(ThreadTeam, ExceptionsComeOut) {
  ThreadTeam team(3);
  for (int i = 0; i < 50; ++i) {
    EXPECT_THROW(team.For(100, 1,
                          [&](int, int64_t begin, int64_t) {
                            if (begin == i) throw std::runtime_error("x");
                          }),
                 std::runtime_error);
  }
  std::atomic<int> done = 0;
  team.For(10, 1, [&](int, int64_t, int64_t) { ++done; });
  EXPECT_EQ(done, 10);
}

TEST(ThreadTeam, GrainsAreMultiplesAndFew) {
  const ThreadTeam team(2);
  EXPECT_EQ(team.Grain(1024, 32), 128);
  EXPECT_EQ(team.Grain(33, 32), 32);
  EXPECT_EQ(team.Grain(5, 1), 1);
  EXPECT_EQ(team.Grain(1024, 32, 200), 224);
}

}  // namespace
}  // namespace tritogen
