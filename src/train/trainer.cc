#include "train/trainer.h"

#include <ATen/ATen.h>

#include <chrono>

#include "base/error.h"

namespace tritogen::train {
namespace {

// Behind the losses: the gradients' norm, then wishes.
enum Slot { kNorm, kStop, kSave, kTotal, kSlots };

AdamWOptions OptimizerOptions(const TrainOptions& o) {
  return {.beta1 = o.beta1,
          .beta2 = o.beta2,
          .epsilon = o.epsilon,
          .weight_decay = o.weight_decay,
          .clip = o.clip};
}

}  // namespace

Trainer::Trainer(const ModelConfig& config, const TrainOptions& options, const PassShape& shape,
                 at::Device device, Ranks* ranks)
    : device_(device),
      ranks_(ranks),
      weights_(MakeFlatWeights(config, options.dtype == "fp32" ? at::kFloat : at::kBFloat16, device,
                               ranks->size())),
      gradients_(MakeFlatWeights(config, at::kFloat, device, ranks->size())) {
  const bool plain = options.plain || !device.is_cuda();
  pass_ = plain ? MakePlainPass(weights_, gradients_, shape) : MakeFusedPass(weights_, gradients_, shape);
  const int64_t share = weights_.flat.numel() / ranks->size();
  optimizer_ =
      std::make_unique<AdamW>(weights_, ranks->rank() * share, share, OptimizerOptions(options), plain);
}

void Trainer::Restore(const HostState& state) {
  // The host's run has no elements behind the last tensor, which make shares equally long.
  auto part = [&](const at::Tensor& host) {
    at::Tensor full = at::zeros({weights_.flat.numel()}, at::kFloat);
    full.narrow(0, 0, host.numel()).copy_(host);
    return ranks_->Share(full).to(device_);
  };
  optimizer_->Restore({.master = part(state.master.flat),
                       .first = part(state.first.flat),
                       .second = part(state.second.flat),
                       .steps = state.steps});
  ranks_->GatherShares(weights_.flat);
}

at::Tensor Trainer::GatherPart(const at::Tensor& part) {
  if (ranks_->size() == 1) return part;
  const at::Tensor full = at::empty({weights_.flat.numel()}, part.options());
  ranks_->Share(full).copy_(part);
  ranks_->GatherShares(full);
  return full;
}

std::optional<HostState> Trainer::Gather() {
  std::optional<HostState> state;
  if (ranks_->rank() == 0) state.emplace(weights_.weights.config);
  const AdamWState& mine = optimizer_->state();
  auto gather = [&](const at::Tensor& part, FlatWeights HostState::*to) {
    const at::Tensor full = GatherPart(part);
    if (!state) return;
    const at::Tensor& host = ((*state).*to).flat;
    host.copy_(full.narrow(0, 0, host.numel()));
  };
  gather(mine.master, &HostState::master);
  gather(mine.first, &HostState::first);
  gather(mine.second, &HostState::second);
  if (state) state->steps = mine.steps;
  return state;
}

LateNumbers Trainer::Step(const StepBatches& step, double learning_rate, const StepWishes& wishes) {
  const auto batches = static_cast<int64_t>(step.places.size());
  const at::Tensor numbers = at::zeros({batches + kSlots}, at::TensorOptions(at::kFloat).device(device_));
  const double scale = step.weight > 0 ? 1 / step.weight : 0;
  for (size_t i = 0; i < step.mine.size(); ++i) {
    const at::Tensor loss = pass_->LossAndGradients(OnDevice(step.mine[i], device_), scale, /*add=*/i > 0);
    numbers[static_cast<int64_t>(i) * ranks_->size() + ranks_->rank()].copy_(loss);
  }
  ranks_->SumShares(gradients_.flat);
  const at::Tensor tail = numbers.narrow(0, batches, kSlots);
  tail[kNorm].copy_(optimizer_->SquaredNorm(gradients_.flat));
  if (wishes.stop) tail[kStop].fill_(1);
  if (wishes.save) tail[kSave].fill_(1);
  if (wishes.total > 0) tail[kTotal].fill_(static_cast<double>(wishes.total));
  ranks_->Sum(numbers);
  // A loss that is not finite where its gradients are must not be learnt from, either.
  const at::Tensor guard = tail[kNorm] + numbers.narrow(0, 0, batches).sum() * 0;
  optimizer_->Step(gradients_.flat, guard, learning_rate);
  ranks_->GatherShares(weights_.flat);
  return LateNumbers(numbers);
}

std::vector<float> Trainer::Wait(LateNumbers* numbers) {
  const auto start = std::chrono::steady_clock::now();
  return numbers->Wait([&] {
    ranks_->Check();
    const double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (ranks_->size() > 1 && waited > ranks_->timeout_seconds()) {
      throw RankLost(fmt::format("rank {} of {}: a step did not end within {:.0f} s: another rank is gone",
                                 ranks_->rank(), ranks_->size(), waited));
    }
  });
}

StepNumbers Trainer::Wait(LateNumbers* numbers, int64_t batches) {
  const std::vector<float> values = Wait(numbers);
  const float* tail = values.data() + batches;
  return {.losses = {values.begin(), values.begin() + batches},
          .squared_norm = tail[kNorm],
          .wishes = {
              .stop = tail[kStop] > 0, .save = tail[kSave] > 0, .total = static_cast<int64_t>(tail[kTotal])}};
}

double Trainer::Loss(const std::vector<DeviceBatch>& mine) {
  const at::Tensor sums = at::zeros({2}, at::TensorOptions(at::kFloat).device(device_));
  for (const DeviceBatch& host : mine) {
    const DeviceBatch batch = OnDevice(host, device_);
    sums[0].add_(pass_->Loss(batch));
    sums[1].add_(batch.weights.sum());
  }
  ranks_->Sum(sums);
  LateNumbers numbers(sums);
  const std::vector<float> values = Wait(&numbers);
  return static_cast<double>(values[0]) / values[1];
}

}  // namespace tritogen::train
