#include "train/batch_feed.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "device/gpu.h"

namespace tritogen::train {
namespace {

template <typename T>
at::Tensor HostTensor(const std::vector<T>& values, at::ScalarType type, bool page_locked) {
  at::Tensor tensor =
      at::empty({static_cast<int64_t>(values.size())}, at::TensorOptions(type).pinned_memory(page_locked));
  std::memcpy(tensor.mutable_data_ptr(), values.data(), values.size() * sizeof(T));
  return tensor;
}

// Padding is documents without targets.
void Count(const PackedBatch& batch, StepBatches* step) {
  for (size_t i = 0; i + 1 < batch.starts.size(); ++i) {
    const int32_t from = batch.starts[i], past = batch.starts[i + 1];
    bool learns = false;
    for (int32_t t = from; t < past; ++t) {
      learns |= batch.targets[t] >= 0;
      step->weight += batch.weights[t];
      step->learned += batch.weights[t] != 0;
    }
    if (!learns) continue;
    step->tokens += past - from;
    step->squared_lengths += static_cast<double>(past - from) * (past - from);
  }
}

}  // namespace

DeviceBatch OnHost(const PackedBatch& batch, bool page_locked) {
  std::vector<int64_t> learned;
  for (size_t i = 0; i < batch.weights.size(); ++i)
    if (batch.weights[i] != 0) learned.push_back(static_cast<int64_t>(i));
  return {.tokens = HostTensor(batch.tokens, at::kInt, page_locked),
          .targets = HostTensor(batch.targets, at::kInt, page_locked),
          .positions = HostTensor(batch.positions, at::kInt, page_locked),
          .weights = HostTensor(batch.weights, at::kFloat, page_locked),
          .starts = HostTensor(batch.starts, at::kInt, page_locked),
          .learned = HostTensor(learned, at::kLong, page_locked)};
}

DeviceBatch OnDevice(const DeviceBatch& batch, at::Device device) {
  auto move = [&](const at::Tensor& tensor) {
    return tensor.to(tensor.options().device(device), /*non_blocking=*/true);
  };
  return {.tokens = move(batch.tokens),
          .targets = move(batch.targets),
          .positions = move(batch.positions),
          .weights = move(batch.weights),
          .starts = move(batch.starts),
          .learned = move(batch.learned)};
}

BatchFeed::BatchFeed(Packer* packer, Place from, int64_t batches, int rank, int ranks, bool page_locked)
    : packer_(packer), count_(batches), rank_(rank), ranks_(ranks), page_locked_(page_locked) {
  TRITOGEN_CHECK(batches > 0 && batches % ranks == 0);
  next_ = std::async(std::launch::async, [this, from] { return Make(from); });
}

void BatchFeed::Wait() {
  if (next_.valid()) next_.wait();
}

StepBatches BatchFeed::Next() {
  StepBatches step = next_.get();
  next_ = std::async(std::launch::async, [this, from = step.next] { return Make(from); });
  return step;
}

// Every rank makes all batches: making one takes far less time than computing it, and each has to know what
// all of them weigh.
StepBatches BatchFeed::Make(Place from) {
  if (page_locked_) Gpu::Current()->EnterThread();  // memory for this rank's GPU, not the first one
  StepBatches step;
  for (Place at = from; static_cast<int64_t>(step.places.size()) < count_; ++at.batch) {
    if (epoch_ != at.epoch) packer_->BeginEpoch(epoch_ = at.epoch);
    if (at.batch >= packer_->batches()) {
      TRITOGEN_CHECK(packer_->batches() > 0);
      at = {at.epoch + 1, -1};
      continue;
    }
    const PackedBatch batch = packer_->Make(at.batch);
    if (static_cast<int>(step.places.size()) % ranks_ == rank_)
      step.mine.push_back(OnHost(batch, page_locked_));
    Count(batch, &step);
    step.places.push_back(at);
    step.next = {at.epoch, at.batch + 1};
  }
  return step;
}

int64_t CountBatches(Packer* packer, int64_t epochs) {
  int64_t count = 0;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    packer->BeginEpoch(epoch);
    count += packer->batches();
  }
  return count;
}

}  // namespace tritogen::train
