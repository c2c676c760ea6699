#include "train/ranks.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <future>
#include <vector>

#include "base/fd.h"

namespace tritogen::train {
namespace {

uint16_t FreePort() {
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof(address);
  EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  return ntohs(address.sin_port);
}

RankPlace PlaceOf(int rank, int size, uint16_t port, double timeout = 30) {
  return {.rank = rank,
          .size = size,
          .address = "127.0.0.1",
          .port = port,
          .run = "test",
          .timeout_seconds = timeout};
}

// `body` on threads that are ranks.
void OnRanks(int size, const std::function<void(Ranks*)>& body) {
  const uint16_t port = FreePort();
  std::vector<std::future<void>> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.push_back(std::async(std::launch::async, [=] {
      const auto ranks = JoinRanks(PlaceOf(rank, size, port), at::kCPU);
      body(ranks.get());
      ranks->FollowFirst();
      ranks->Leave();
    }));
  }
  for (auto& thread : threads) thread.get();
}

TEST(RanksTest, SumAndGather) {
  OnRanks(3, [](Ranks* ranks) {
    const auto rank = static_cast<float>(ranks->rank());
    for (int round = 0; round < 4; ++round) {
      at::Tensor numbers = at::full({5}, rank + 1);
      ranks->Sum(numbers);
      EXPECT_TRUE(at::equal(numbers, at::full({5}, 6.0f)));
      at::Tensor flat = at::arange(6, at::kFloat) + 10 * rank;
      ranks->SumShares(flat);
      EXPECT_TRUE(at::equal(ranks->Share(flat), ranks->Share(3 * at::arange(6, at::kFloat) + 30)));
      at::Tensor shares = at::zeros({6}, at::kBFloat16);
      ranks->Share(shares).fill_(rank - 1);
      ranks->GatherShares(shares);
      EXPECT_TRUE(at::equal(shares, at::tensor({-1.f, -1.f, 0.f, 0.f, 1.f, 1.f}).to(at::kBFloat16)));
    }
  });
}

TEST(RanksTest, SumsAreEqualBitForBit) {
  std::vector<at::Tensor> sums(3);
  OnRanks(3, [&](Ranks* ranks) {
    at::Tensor numbers = at::full({100}, 0.1f + 1e-7f * static_cast<float>(ranks->rank())).cumsum(0);
    ranks->Sum(numbers);
    sums[ranks->rank()] = numbers;
  });
  EXPECT_TRUE(at::equal(sums[0], sums[1]) && at::equal(sums[0], sums[2]));
}

TEST(RanksTest, OneThatDoesNotComeIsLost) {
  EXPECT_THROW(JoinRanks(PlaceOf(1, 2, FreePort(), 1), at::kCPU), RankLost);
}

}  // namespace
}  // namespace tritogen::train
