// Ranks for tests: threads of one process.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <vector>

#include "ranks/ranks.h"

namespace tritogen {

inline void OnRanks(int size, const std::function<void(const std::shared_ptr<Ranks>&)>& body) {
  const RankHost host = OpenRankHost(at::kCPU);
  std::vector<std::future<void>> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.push_back(std::async(std::launch::async, [&, rank] {
      const RankPlace place{.rank = rank, .size = size, .run = "test", .timeout_seconds = 30};
      const std::shared_ptr<Ranks> ranks = JoinRanks(place, at::kCPU, host.id);
      body(ranks);
      ranks->FollowFirst();
      ranks->Leave();
    }));
  }
  for (auto& thread : threads) thread.get();
}

}  // namespace tritogen
