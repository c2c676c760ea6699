#include "runner/tensor_parallel.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "cuda/driver.h"
#include "device/gpu.h"
#include "ranks/rank_processes.h"
#include "runner/batch_bytes.h"
#include "runner/open_gpu.h"

namespace tritogen {
namespace {

enum Kind : int32_t { kOpen = 1, kJoin, kStep, kWait, kWeights, kTokens };

// In seconds.
constexpr double kLoadTime = 300;     // after rank 0 has loaded its part
constexpr double kMeetTime = 45;      // of NCCL's start
constexpr double kCompileTime = 900;  // of kernels that no run before has compiled
constexpr double kEndTime = 20;
constexpr double kStoreTimeouts = 4;  // of CPUs: who watches knows more, and is to be heard first

uint32_t TokensCrc(const std::vector<Sample>& samples) {
  uint32_t crc = 0;
  for (const Sample& sample : samples) {
    const TokenId token = sample.chosen.token;
    crc = Crc32c({reinterpret_cast<const char*>(&token), sizeof token}, crc);
  }
  return crc;
}

// Whether all ranks draw the same tokens; called on two threads.
class TokensCheck {
 public:
  explicit TokensCheck(int size) : own_(size), theirs_(size) {}

  // Throw RankLost.
  void Own(uint32_t crc) {
    const std::lock_guard lock(mutex_);
    for (size_t rank = 1; rank < own_.size(); ++rank) {
      own_[rank].push_back(crc);
      Compare(rank);
    }
  }
  void Theirs(int rank, uint32_t crc) {
    const std::lock_guard lock(mutex_);
    theirs_[rank].push_back(crc);
    Compare(rank);
  }

 private:
  void Compare(size_t rank) {
    while (!own_[rank].empty() && !theirs_[rank].empty()) {
      if (own_[rank].front() != theirs_[rank].front())
        throw RankLost(fmt::format(
            "rank {} of {} has drawn other tokens than rank 0: their logits are not equal bit for bit. Are "
            "the GPUs of one kind?",
            rank, own_.size()));
      own_[rank].pop_front();
      theirs_[rank].pop_front();
    }
  }

  std::mutex mutex_;
  std::vector<std::deque<uint32_t>> own_, theirs_;  // by rank; not compared yet
};

class FirstRank final : public Runner {
 public:
  explicit FirstRank(const TensorParallelOptions& options);
  ~FirstRank() override {
    const RankProcesses::Working end(&others_, "the end of the runner", kEndTime);
    runner_.reset();
  }

  const RunnerLimits& limits() const override { return runner_->limits(); }
  void Submit(const Batch& batch) override {
    const RankProcesses::Working step(&others_, "the start of a step", options_.ranks.timeout_seconds);
    others_.Send(kStep, EncodeBatch(batch));
    runner_->Submit(batch);
  }
  std::vector<Sample> Wait() override {
    const RankProcesses::Working step(&others_, "a step", options_.ranks.timeout_seconds);
    others_.Send(kWait);
    std::vector<Sample> samples = runner_->Wait();
    tokens_.Own(TokensCrc(samples));
    return samples;
  }
  void WeightsChanged() override {
    TRITOGEN_CHECK(options_.reload);
    const RankProcesses::Working load(&others_, "reading new weights", kLoadTime);
    others_.Send(kWeights);
    options_.reload({0, options_.ranks.size}, weights_.get());
    runner_->WeightsChanged();
  }

 private:
  const TensorParallelOptions options_;
  TokensCheck tokens_;
  RankHost host_;  // CPUs' sums go through it until the others have ended
  RankProcesses others_;
  std::shared_ptr<DecoderWeights> weights_;
  std::unique_ptr<Runner> runner_;
};

void RequireGpus(int size) {
  std::string why;
  const cuda::Driver* driver = cuda::Driver::Load(&why);
  if (driver == nullptr) throw UserError(fmt::format("{} GPUs are wanted: {}", size, why));
  int there = 0;
  cuda::Check(driver->cuDeviceGetCount(&there), "count the GPUs");
  if (there < size) throw UserError(fmt::format("{} GPUs are wanted, and {} are there", size, there));
}

at::Device OpenDevice(const TensorParallelOptions& options, int rank) {
  if (!options.cuda) return at::kCPU;
  OpenGpu(options.compiler, rank);
  return Gpu::Current()->device();
}

std::shared_ptr<Ranks> Meet(const TensorParallelOptions& options, int rank, const std::string& host,
                            at::Device device) {
  const RankPlace place{.rank = rank,
                        .size = options.ranks.size,
                        .local = rank,
                        .run = "tensor-parallel",
                        .timeout_seconds = kStoreTimeouts * options.ranks.timeout_seconds};
  return JoinRanks(place, device, host);
}

std::unique_ptr<Runner> MakeRunner(const TensorParallelOptions& options,
                                   std::shared_ptr<const DecoderWeights> weights,
                                   const std::shared_ptr<Ranks>& ranks) {
  const at::Device device = weights->embedding.device();
  auto runner = MakeGpuRunner(std::move(weights), options.runner, ranks);
  LeastOfRanks(ranks.get(), 0, device);  // waits until all have theirs
  return runner;
}

std::string Expect(RankChannel* first, Kind kind) {
  auto message = first->Receive();
  if (!message) throw RankLost("rank 0 has ended");
  TRITOGEN_CHECK(message->kind == kind);
  return std::move(message->bytes);
}

// The calls that rank 0 makes, until it ends.
void Follow(RankChannel* first, Runner* runner, const std::function<void()>& reload) {
  while (const auto message = first->Receive()) {
    if (message->kind == kStep) {
      runner->Submit(DecodedBatch(message->bytes).batch);
    } else if (message->kind == kWait) {
      const uint32_t crc = TokensCrc(runner->Wait());
      first->Send(kTokens, {reinterpret_cast<const char*>(&crc), sizeof crc});
    } else {
      TRITOGEN_CHECK(message->kind == kWeights);
      reload();
      runner->WeightsChanged();
    }
  }
}

void BeOther(const TensorParallelOptions& options, int rank, RankChannel* first) {
  const ModelPart part{rank, options.ranks.size};
  Expect(first, kOpen);
  const at::Device device = OpenDevice(options, rank);
  const auto weights = std::make_shared<DecoderWeights>(options.load(part, device));
  first->Send(RankProcesses::kReady);
  const std::string host = Expect(first, kJoin);
  const auto runner = MakeRunner(options, weights, Meet(options, rank, host, device));
  Follow(first, runner.get(), [&] { options.reload(part, weights.get()); });
}

FirstRank::FirstRank(const TensorParallelOptions& options)
    : options_(options),
      tokens_(options.ranks.size),
      others_(options.ranks.size, [this](int rank, RankChannel* first) { BeOther(options_, rank, first); }) {
  const auto say = [&](const char* what) {
    if (options.runner.on_opening) options.runner.on_opening({what});
  };
  if (options.cuda) RequireGpus(options.ranks.size);
  others_.Send(kOpen);  // all at once: what takes long is reading CUDA's libraries
  say("opening the GPUs");
  const at::Device device = OpenDevice(options, 0);
  say("reading the weights");
  weights_ = std::make_shared<DecoderWeights>(options.load({0, options.ranks.size}, device));
  say("waiting for the other ranks' weights");
  others_.AwaitReady(kLoadTime);
  say("connecting the GPUs");
  host_ = OpenRankHost(device);
  others_.StartWatching({.on_message =
                             [this](int rank, const RankChannel::Message& message) {
                               uint32_t crc = 0;
                               TRITOGEN_CHECK(message.kind == kTokens && message.bytes.size() == sizeof crc);
                               std::memcpy(&crc, message.bytes.data(), sizeof crc);
                               tokens_.Theirs(rank, crc);
                             },
                         .on_lost = options.on_lost});
  std::shared_ptr<Ranks> ranks;
  {
    const RankProcesses::Working meeting(&others_, "the ranks' meeting", kMeetTime);
    others_.Send(kJoin, host_.id);
    ranks = Meet(options, 0, host_.id, device);
  }
  const RankProcesses::Working making(&others_, "compiling kernels", kCompileTime);
  runner_ = MakeRunner(options, weights_, ranks);
}

}  // namespace

std::unique_ptr<Runner> MakeTensorParallelRunner(const TensorParallelOptions& options) {
  constexpr int kMostInvariant = 2;
  if (options.runner.batch_invariant && options.ranks.size > kMostInvariant)
    throw UserError(
        "--batch-invariant goes with two ranks at most: the order in which more of them are summed depends "
        "on the size of the batch");
  try {
    return std::make_unique<FirstRank>(options);
  } catch (const RankLost& error) {
    if (options.on_lost) options.on_lost(error.what(), /*users_fault=*/false);
    throw;
  }
}

}  // namespace tritogen
