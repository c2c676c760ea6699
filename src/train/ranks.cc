#include "train/ranks.h"

#include <ATen/ATen.h>

#include <chrono>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/error.h"
#include "train/ranks_nccl.h"

namespace tritogen::train {
namespace {

using std::chrono::milliseconds;

milliseconds Timeout(const RankPlace& place) {
  return milliseconds(static_cast<int64_t>(1000 * place.timeout_seconds));
}

// What c10d throws has a text for its own developers.
template <typename Body>
auto Collective(const RankPlace& place, Body&& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    throw RankLost(fmt::format("rank {} of {}: another rank is gone, or did not come within {:.0f} s ({})", place.rank,
                               place.size, place.timeout_seconds, text.substr(0, text.find('\n'))));
  }
}

class OneRank : public Ranks {
 public:
  OneRank() : Ranks({}) {}
};

c10::intrusive_ptr<c10d::Store> OpenStore(const RankPlace& place) {
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = place.rank == 0 && !place.store_is_there;
  options.numWorkers = place.size;
  options.waitWorkers = !place.store_is_there;
  options.timeout = Timeout(place);
  return c10::make_intrusive<c10d::PrefixStore>(place.run,
                                                c10::make_intrusive<c10d::TCPStore>(place.address, options));
}

class GlooRanks : public StoreRanks {
 public:
  GlooRanks(const RankPlace& place, c10::intrusive_ptr<c10d::Store> store) : StoreRanks(place, std::move(store)) {
    Collective(place_, [&] {
      auto options = c10d::ProcessGroupGloo::Options::create(Timeout(place_));
      const bool here = place_.address == "localhost" || place_.address.starts_with("127.");
      options->devices.push_back(here ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                      : c10d::ProcessGroupGloo::createDefaultDevice());
      group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store_, place_.rank, place_.size, options);
      return 0;
    });
  }

  void Sum(const at::Tensor& tensor) override {
    std::vector<at::Tensor> tensors{tensor};
    Collective(place_, [&] { return group_->allreduce(tensors)->wait(); });
  }
  void SumShares(const at::Tensor& flat) override { Sum(flat); }
  void GatherShares(const at::Tensor& flat) override {
    at::Tensor all = flat.view(at::kByte), mine = Share(all).clone();  // bytes: whatever the dtype
    Collective(place_, [&] { return group_->_allgather_base(all, mine)->wait(); });
  }
  void Broadcast(const at::Tensor& tensor) override {
    std::vector<at::Tensor> tensors{tensor.view(at::kByte)};
    Collective(place_, [&] { return group_->broadcast(tensors)->wait(); });
  }

 private:
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace

at::Tensor Ranks::Share(const at::Tensor& flat) const {
  TRITOGEN_CHECK(flat.numel() % size() == 0);
  const int64_t count = flat.numel() / size();
  return flat.narrow(0, rank() * count, count);
}

void StoreRanks::FollowFirst() {
  const std::string key = fmt::format("first/{}", followed_++);
  Collective(place_, [&] {
    if (rank() == 0)
      store_->set(key, std::vector<uint8_t>{1});
    else
      store_->wait({key}, std::chrono::hours(24));
    return 0;
  });
}

std::unique_ptr<Ranks> JoinRanks(const RankPlace& place, at::Device device) {
  if (place.size == 1) return std::make_unique<OneRank>();
  auto store = Collective(place, [&] { return OpenStore(place); });
  if (device.is_cuda()) return JoinNcclRanks(place, std::move(store));
  return std::make_unique<GlooRanks>(place, std::move(store));
}

}  // namespace tritogen::train
