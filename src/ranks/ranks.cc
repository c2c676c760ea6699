#include "ranks/ranks.h"

#include <ATen/ATen.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/error.h"
#include "ranks/ranks_nccl.h"

namespace tritogen {
namespace {

std::chrono::milliseconds Timeout(const RankPlace& place) {
  return std::chrono::milliseconds(static_cast<int64_t>(1000 * place.timeout_seconds));
}

// What c10d throws has a text for its own developers.
template <typename Body>
auto Meeting(const RankPlace& place, Body&& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    throw RankLost(fmt::format("rank {} of {}: another rank is gone, or did not come within {:.0f} s ({})",
                               place.rank, place.size, place.timeout_seconds,
                               text.substr(0, text.find('\n'))));
  }
}

class OneRank : public Ranks {
 public:
  OneRank() : Ranks({}) {}
};

// Everything goes through the store. Sums are made in the order of ranks.
class CpuRanks : public StoreRanks {
 public:
  using StoreRanks::StoreRanks;

  void Sum(const at::Tensor& tensor) override {
    Begin();
    Put("", tensor);
    SumOf("", tensor);
  }
  void SumShares(const at::Tensor& flat) override {
    Begin();
    for (int to = 0; to < size(); ++to) Put(fmt::format("/{}", to), ShareOf(flat, to));
    SumOf(fmt::format("/{}", rank()), Share(flat));
  }
  void GatherShares(const at::Tensor& flat) override {
    Begin();
    Put("", Share(flat));
    for (int from = 0; from < size(); ++from) {
      if (from != rank()) Get(from, "", ShareOf(flat, from));
    }
  }

 private:
  // Who began a call has read what was put for the one before; so everybody had begun that, and has read what
  // was put for the one before that.
  void Begin() {
    ++call_;
    for (const std::string& key : put_[call_ % 2]) Meeting(place_, [&] { return store_->deleteKey(key); });
    put_[call_ % 2].clear();
  }
  std::string Key(int from, const std::string& part) const {
    return fmt::format("{}/{}{}", call_, from, part);
  }
  void Put(const std::string& part, const at::Tensor& tensor) {
    std::vector<uint8_t> bytes(tensor.nbytes());
    std::memcpy(bytes.data(), tensor.const_data_ptr(), bytes.size());
    put_[call_ % 2].push_back(Key(rank(), part));
    Meeting(place_, [&] {
      store_->set(Key(rank(), part), bytes);
      return true;
    });
  }
  void Get(int from, const std::string& part, const at::Tensor& tensor) {
    const auto bytes = Meeting(place_, [&] { return store_->get(Key(from, part)); });
    TRITOGEN_CHECK(bytes.size() == tensor.nbytes());
    std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  }
  void SumOf(const std::string& part, const at::Tensor& tensor) {
    const at::Tensor own = tensor.clone(), other = at::empty_like(tensor);
    tensor.zero_();
    for (int from = 0; from < size(); ++from) {
      if (from != rank()) Get(from, part, other);
      tensor.add_(from == rank() ? own : other);
    }
  }

  int64_t call_ = 0;
  std::vector<std::string> put_[2];  // keys of the last two calls
};

constexpr const char* kThisMachine = "127.0.0.1";

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

}  // namespace

at::Tensor Ranks::ShareOf(const at::Tensor& flat, int rank) const {
  TRITOGEN_CHECK(flat.numel() % size() == 0);
  const int64_t count = flat.numel() / size();
  return flat.narrow(0, rank * count, count);
}

void StoreRanks::FollowFirst() {
  TRITOGEN_CHECK(store_);
  const std::string key = fmt::format("first/{}", followed_++);
  Meeting(place_, [&] {
    if (rank() == 0)
      store_->set(key, std::vector<uint8_t>{1});
    else
      store_->wait({key}, std::chrono::hours(24));
    return true;
  });
}

void StoreRanks::Leave() {
  TRITOGEN_CHECK(store_);
  const auto end = std::chrono::steady_clock::now() + Timeout(place_);
  Meeting(place_, [&] {
    int64_t left = store_->add("left", 1);
    while (rank() == 0 && left < size() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      left = store_->add("left", 0);
    }
    return true;
  });
}

std::unique_ptr<Ranks> JoinRanks(const RankPlace& place, at::Device device) {
  if (place.size == 1) return std::make_unique<OneRank>();
  auto store = Meeting(place, [&] { return OpenStore(place); });
  if (device.is_cuda()) return JoinNcclRanks(place, std::move(store));
  return std::make_unique<CpuRanks>(place, std::move(store));
}

RankHost OpenRankHost(at::Device device) {
  if (device.is_cuda()) return {.id = MakeNcclId()};
  c10d::TCPStoreOptions options;
  options.port = 0;  // any that is free
  options.isServer = true;
  options.waitWorkers = false;
  auto store = std::make_shared<c10::intrusive_ptr<c10d::TCPStore>>(
      c10::make_intrusive<c10d::TCPStore>(kThisMachine, options));
  const uint16_t port = (*store)->getPort();
  return {.id = std::to_string(port), .open = std::move(store)};
}

std::unique_ptr<Ranks> JoinRanks(const RankPlace& place, at::Device device, const std::string& host_id) {
  if (device.is_cuda()) return JoinNcclRanks(place, host_id);
  RankPlace there = place;
  there.address = kThisMachine;
  there.port = static_cast<uint16_t>(std::stoi(host_id));
  there.store_is_there = true;
  return JoinRanks(there, device);
}

int64_t LeastOfRanks(Ranks* ranks, int64_t number, at::Device device) {
  const at::Tensor numbers = at::full({ranks->size()}, number, at::TensorOptions(at::kLong).device(device));
  ranks->GatherShares(numbers);
  return numbers.min().item<int64_t>();
}

}  // namespace tritogen
