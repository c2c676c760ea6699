#include "ranks/rank_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>
#include <future>
#include <thread>

#include "base/error.h"
#include "ranks/rank_place.h"

namespace tritogen {
namespace {

constexpr int32_t kAsk = 1, kEnd = 2, kRefuse = 3;

std::string Bytes(pid_t pid) {
  return std::string(reinterpret_cast<const char*>(&pid), sizeof pid);
}

pid_t PidOf(const std::string& bytes) {
  pid_t pid = 0;
  EXPECT_EQ(bytes.size(), sizeof pid);
  std::memcpy(&pid, bytes.data(), sizeof pid);
  return pid;
}

// Says that it is ready; answers kAsk with its number and process, and ends with kEnd and kRefuse.
void Answer(int rank, RankChannel* first) {
  first->Send(RankProcesses::kReady);
  while (const auto message = first->Receive()) {
    if (message->kind == kEnd && message->bytes == std::to_string(rank))
      throw InternalError("it was told to");
    if (message->kind == kRefuse && message->bytes == std::to_string(rank))
      throw UserError("the tensor is damaged");
    if (message->kind == kAsk) first->Send(rank, Bytes(getpid()));
  }
}

// Processes with the first loss, and what came.
struct Watched {
  explicit Watched(int size) : processes(size, Answer), lost(loss.get_future()) {
    processes.AwaitReady(10);
    processes.StartWatching({.on_message =
                                 [this](int rank, const RankChannel::Message& message) {
                                   if (message.kind != rank) throw InternalError("messages are mixed up");
                                   const std::lock_guard lock(mutex);
                                   pids.push_back(PidOf(message.bytes));
                                   changed.notify_all();
                                 },
                             .on_lost =
                                 [this](const std::string& why, bool users) {
                                   users_fault = users;
                                   loss.set_value(why);
                                 }});
  }
  std::vector<pid_t> Pids(size_t count) {
    processes.Send(kAsk);
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(10), [&] { return pids.size() >= count; }));
    return pids;
  }
  std::string Lost() {
    return lost.wait_for(std::chrono::seconds(10)) == std::future_status::ready ? lost.get() : "nothing";
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<pid_t> pids;
  bool users_fault = false;
  std::promise<std::string> loss;
  RankProcesses processes;
  std::future<std::string> lost;
};

TEST(RankProcesses, AnswerAndLeaveNothingBehind) {
  std::vector<pid_t> pids;
  {
    Watched three(3);
    pids = three.Pids(2);
    EXPECT_NE(pids[0], pids[1]);
    EXPECT_EQ(three.lost.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  }
  for (const pid_t pid : pids) EXPECT_NE(kill(pid, 0), 0);
}

TEST(RankProcesses, LargeMessagesArrive) {
  auto [one, other] = RankChannel::MakePair();
  const std::string large(5 << 20, 'x');
  auto sent = std::async(std::launch::async, [&] { return one.Send(9, large); });
  const auto message = other.Receive();
  EXPECT_TRUE(sent.get());
  ASSERT_TRUE(message);
  EXPECT_EQ(message->kind, 9);
  EXPECT_EQ(message->bytes, large);
  one.Close();
  EXPECT_FALSE(other.Receive());
  EXPECT_FALSE(other.Send(1, "x"));
}

TEST(RankProcesses, OneThatIsKilledIsLost) {
  Watched two(2);
  const pid_t pid = two.Pids(1)[0];
  kill(pid, SIGKILL);
  const std::string why = two.Lost();
  EXPECT_NE(why.find("rank 1 of 2"), std::string::npos) << why;
  EXPECT_NE(why.find("signal 9"), std::string::npos) << why;
  EXPECT_NE(why.find(std::to_string(pid)), std::string::npos) << why;
  EXPECT_THROW(
      {
        for (int i = 0; i < 100; ++i) two.processes.Send(kAsk);
      },
      RankLost);
}

TEST(RankProcesses, OneThatFailsSaysWhy) {
  Watched three(3);
  three.processes.Send(kEnd, "2");
  const std::string why = three.Lost();
  EXPECT_NE(why.find("rank 2 of 3"), std::string::npos) << why;
  EXPECT_NE(why.find("it was told to"), std::string::npos) << why;
  EXPECT_FALSE(three.users_fault);
}

TEST(RankProcesses, AUsersFaultOfOneIsOneHere) {
  Watched three(3);
  three.processes.Send(kRefuse, "2");
  const std::string why = three.Lost();
  EXPECT_NE(why.find("rank 2 of 3"), std::string::npos) << why;
  EXPECT_NE(why.find("the tensor is damaged"), std::string::npos) << why;
  EXPECT_TRUE(three.users_fault);
  EXPECT_THROW(
      {
        for (int i = 0; i < 100; ++i) three.processes.Send(kAsk);
      },
      UserError);
}

// A process may be stopped between any two of its calls; the other end waits for the whole of a message.
TEST(RankChannel, AShortMessageComesAsOne) {
  constexpr int kMessages = 5000, kBytes = 8 + 4;
  auto [here, there] = RankChannel::MakePair();
  std::thread sender([&there = there] {
    for (int i = 0; i < kMessages; ++i) there.Send(kAsk, "four");
  });
  for (int i = 0; i < kMessages; ++i) {
    int bytes = 0;
    while (bytes == 0) ioctl(here.fd(), FIONREAD, &bytes);
    EXPECT_EQ(bytes % kBytes, 0);
    const auto message = here.Receive();
    ASSERT_TRUE(message);
    EXPECT_EQ(message->bytes, "four");
  }
  sender.join();
}

TEST(RankProcesses, OneThatHangsIsNamed) {
  Watched three(3);
  const pid_t pid = three.Pids(2)[1];
  kill(pid, SIGSTOP);
  {
    const RankProcesses::Working step(&three.processes, "a step", 0.3);
    three.processes.Send(kAsk);
    const std::string why = three.Lost();
    EXPECT_NE(why.find("a step has not ended within 0.3 s"), std::string::npos) << why;
    EXPECT_NE(why.find(std::to_string(pid)), std::string::npos) << why;
    EXPECT_NE(why.find("is stopped"), std::string::npos) << why;
  }
}

TEST(RankProcesses, WorkThatEndsInTimeIsNoLoss) {
  Watched two(2);
  { const RankProcesses::Working step(&two.processes, "a step", 0.1); }
  EXPECT_EQ(two.lost.wait_for(std::chrono::milliseconds(600)), std::future_status::timeout);
}

TEST(RankProcesses, WhatOneCannotDoAtItsStartIsThrownHere) {
  RankProcesses user(3, [](int rank, RankChannel*) {
    if (rank == 2) throw UserError("there is no GPU");
    pause();
  });
  try {
    user.AwaitReady(0.5);
    FAIL();
  } catch (const RankLost& error) {  // rank 1 is asked first
    EXPECT_NE(std::string(error.what()).find("rank 1 of 3"), std::string::npos) << error.what();
  }
  RankProcesses other(2, [](int, RankChannel*) { throw UserError("there is no GPU"); });
  try {
    other.AwaitReady(10);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("there is no GPU"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tritogen
