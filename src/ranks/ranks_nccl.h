// Ranks on GPUs.
#pragma once

#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "ranks/ranks.h"

namespace tritogen {

class StoreRanks : public Ranks {
 public:
  StoreRanks(const RankPlace& place, c10::intrusive_ptr<c10d::Store> store)
      : Ranks(place), store_(std::move(store)) {}
  void FollowFirst() override;
  void Leave() override;

 protected:
  c10::intrusive_ptr<c10d::Store> store_;

 private:
  int64_t followed_ = 0;
};

// NCCL itself, out of the library that libtorch brings, on the stream of the open GPU: c10d's
// ProcessGroupNCCL would make libtorch's CUDA half a part that the program cannot start without, and its
// watchdog ends the process without a word that a user could act on.
std::unique_ptr<Ranks> JoinNcclRanks(const RankPlace& place, c10::intrusive_ptr<c10d::Store> store);

// The same without a store, so without FollowFirst and Leave: one rank makes the id and tells it the others.
std::string MakeNcclId();
std::unique_ptr<Ranks> JoinNcclRanks(const RankPlace& place, const std::string& id);

}  // namespace tritogen
