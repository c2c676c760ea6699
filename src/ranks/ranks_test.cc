#include "ranks/ranks.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <vector>

#include "base/fd.h"
#include "ranks/ranks_test_util.h"

namespace tritogen {
namespace {

uint16_t FreePort() {
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof(address);
  EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  return ntohs(address.sin_port);
}

TEST(RanksTest, SumAndGather) {
  OnRanks(3, [](const std::shared_ptr<Ranks>& ranks) {
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
      EXPECT_EQ(LeastOfRanks(ranks.get(), 7 - ranks->rank(), at::kCPU), 5);
    }
  });
}

TEST(RanksTest, SumsAreEqualBitForBit) {
  std::vector<at::Tensor> sums(3);
  OnRanks(3, [&](const std::shared_ptr<Ranks>& ranks) {
    at::Tensor numbers = at::full({100}, 0.1f + 1e-7f * static_cast<float>(ranks->rank())).cumsum(0);
    ranks->Sum(numbers);
    sums[ranks->rank()] = numbers;
  });
  EXPECT_TRUE(at::equal(sums[0], sums[1]) && at::equal(sums[0], sums[2]));
}

TEST(RanksTest, OneThatDoesNotComeIsLost) {
  const RankPlace place{
      .rank = 1, .size = 2, .address = "127.0.0.1", .port = FreePort(), .run = "test", .timeout_seconds = 1};
  EXPECT_THROW(JoinRanks(place, at::kCPU), RankLost);
}

}  // namespace
}  // namespace tritogen
