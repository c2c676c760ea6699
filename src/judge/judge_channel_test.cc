#include "judge/judge_channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "base/fd.h"
#include "base/frame.h"

namespace tritogen {
namespace {

using nlohmann::json;

struct Ends {
  Ends() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair");
    pool.Reset(ends[0]);
    judge.Reset(ends[1]);
  }
  UniqueFd pool, judge;
};

TEST(JudgeChannel, CarriesFrames) {
  const Ends ends;
  SetPatience(ends.pool.get(), std::chrono::milliseconds(50));
  ASSERT_TRUE(SendFrame(ends.judge.get(), {{"a", 1}}));
  EXPECT_EQ(ReceiveFrame(ends.pool.get()), (json{{"a", 1}}));
}

TEST(JudgeChannel, HalfAFrameIsNotWaitedForForever) {
  const Ends ends;
  SetPatience(ends.pool.get(), std::chrono::milliseconds(50));
  const std::string frame = EncodeFrame({{"verdict", "passed"}});
  ASSERT_EQ(write(ends.judge.get(), frame.data(), frame.size() - 1), static_cast<ssize_t>(frame.size() - 1));
  EXPECT_FALSE(ReceiveFrame(ends.pool.get()));
}

TEST(JudgeChannel, NorIsWhoDoesNotRead) {
  const Ends ends;
  SetPatience(ends.pool.get(), std::chrono::milliseconds(50));
  EXPECT_FALSE(SendFrame(ends.pool.get(), {{"text", std::string(8 << 20, 'x')}}));
}

}  // namespace
}  // namespace tritogen
