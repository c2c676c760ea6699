#include "judge/judge_channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

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
  ASSERT_TRUE(SendFrame(ends.judge.get(), {{"a", 1}}));
  EXPECT_EQ(ReceiveFrame(ends.pool.get(), std::chrono::milliseconds(50)), (json{{"a", 1}}));
}

TEST(JudgeChannel, HalfAFrameIsNotWaitedForForever) {
  const Ends ends;
  const std::string frame = EncodeFrame({{"verdict", "passed"}});
  ASSERT_EQ(write(ends.judge.get(), frame.data(), frame.size() - 1), static_cast<ssize_t>(frame.size() - 1));
  EXPECT_FALSE(ReceiveFrame(ends.pool.get(), std::chrono::milliseconds(50)));
}

TEST(JudgeChannel, NorIsOneThatDrips) {
  const Ends ends;
  const std::string frame = EncodeFrame({{"text", std::string(1000, 'x')}});
  std::jthread judge([&](const std::stop_token& stop) {
    for (size_t i = 0; i + 1 < frame.size() && !stop.stop_requested(); ++i) {
      if (write(ends.judge.get(), &frame[i], 1) != 1) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // 5 s for all of it
    }
  });
  EXPECT_FALSE(ReceiveFrame(ends.pool.get(), std::chrono::milliseconds(50)));
}

TEST(JudgeChannel, NorIsWhoDoesNotRead) {
  const Ends ends;
  EXPECT_FALSE(
      SendFrame(ends.pool.get(), {{"text", std::string(8 << 20, 'x')}}, std::chrono::milliseconds(50)));
}

}  // namespace
}  // namespace tritogen
