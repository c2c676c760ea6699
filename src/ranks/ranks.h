// Ranks: processes that compute one model together, each with its part of every step: of training, or of the
// engine where a model is shared by several GPUs. They meet at a TCP store (c10d), or by an id that one of
// them makes. On GPUs they talk through NCCL, on CPUs through the store itself: that is for tests and small
// models.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "ranks/rank_place.h"

namespace tritogen {

// Calls are made by all ranks in the same order, on contiguous tensors of the ranks' device; on GPUs they are
// put on the current stream and not waited for. Every call throws RankLost when another rank is known to be
// gone, or does not come within the time-out. Sums are equal on all ranks, bit for bit.
class Ranks {
 public:
  virtual ~Ranks() = default;

  int rank() const { return place_.rank; }
  int size() const { return place_.size; }
  double timeout_seconds() const { return place_.timeout_seconds; }
  // This rank's share of a flat tensor. REQUIRES: its elements are a multiple of size().
  at::Tensor Share(const at::Tensor& flat) const { return ShareOf(flat, rank()); }
  at::Tensor ShareOf(const at::Tensor& flat, int rank) const;

  virtual void Sum(const at::Tensor& tensor) {}
  // Afterwards this rank's share is the sum; the rest is anything.
  virtual void SumShares(const at::Tensor& flat) {}
  // Every rank's share comes to all.
  virtual void GatherShares(const at::Tensor& flat) {}
  // Ranks wait here, however long, until rank 0 comes: it does something alone.
  virtual void FollowFirst() {}
  // At the end: rank 0 goes last, since others may need what it keeps.
  virtual void Leave() {}
  // Throws RankLost when it is known.
  virtual void Check() {}

 protected:
  explicit Ranks(const RankPlace& place) : place_(place) {}

  RankPlace place_;
};

// Waits for the others. One rank alone needs nobody. `device`: a GPU is open already (device/gpu.h). Throws
// RankLost when they do not come.
std::unique_ptr<Ranks> JoinRanks(const RankPlace& place, at::Device device);

// Where processes meet that one of them, rank 0, starts on its own machine: it tells the others `id`.
struct RankHost {
  std::string id;              // any bytes
  std::shared_ptr<void> open;  // to be kept until the ranks are through
};
RankHost OpenRankHost(at::Device device);
// Of `place`, rank, size and time-out count.
std::unique_ptr<Ranks> JoinRanks(const RankPlace& place, at::Device device, const std::string& host_id);

// The least of what the ranks give. Waits for it.
int64_t LeastOfRanks(Ranks* ranks, int64_t number, at::Device device);

}  // namespace tritogen
