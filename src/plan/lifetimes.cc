#include "plan/lifetimes.h"

#include <algorithm>
#include <limits>

#include "plan/visit.h"

namespace tritogen {
namespace {

std::vector<TensorId> Concat(std::vector<TensorId> a, const std::vector<TensorId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Tensors that set-up leaves behind: state, and whatever it made or was given that a call uses.
std::vector<TensorId> KeptBySetup(const Plan& plan) {
  std::vector<bool> visible(plan.tensors.size(), false);
  for (TensorId id : Concat(TensorLeaves(plan.init_inputs), TensorLeaves(plan.warmup_inputs)))
    visible[id] = true;
  for (const Step& step : plan.setup) ForEachResult(step, [&](TensorId id) { visible[id] = true; });
  std::vector<TensorId> kept;
  auto keep = [&](TensorId id) {
    if (visible[id]) kept.push_back(id);
  };
  for (const StateEntry& entry : plan.state) keep(entry.tensor);
  for (const Step& step : plan.run) ForEachUse(step, keep);
  ForEachTensor(plan.outputs, keep);
  return kept;
}

std::vector<TensorId> ExistBefore(const Plan& plan, Phase phase) {
  switch (phase) {
    case Phase::kGenerate:
      return {};
    case Phase::kSetup:
      return Concat(TensorLeaves(plan.init_inputs), TensorLeaves(plan.warmup_inputs));
    case Phase::kRun:
      return Concat(KeptBySetup(plan), TensorLeaves(plan.inputs));
  }
  return {};
}

std::vector<TensorId> ExistAfter(const Plan& plan, Phase phase) {
  switch (phase) {
    case Phase::kGenerate:
      return Concat(TensorLeaves(plan.init_inputs), TensorLeaves(plan.inputs));
    case Phase::kSetup:
      return Concat(KeptBySetup(plan), ExistBefore(plan, phase));
    case Phase::kRun:
      return Concat(TensorLeaves(plan.outputs), ExistBefore(plan, phase));
  }
  return {};
}

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

}  // namespace

const std::vector<Step>& StepsOf(const Plan& plan, Phase phase) {
  switch (phase) {
    case Phase::kGenerate:
      return plan.generate;
    case Phase::kSetup:
      return plan.setup;
    case Phase::kRun:
      break;
  }
  return plan.run;
}

std::vector<Lifetime> TensorLifetimes(const Plan& plan, Phase phase) {
  const std::vector<Step>& steps = StepsOf(plan, phase);
  std::vector<Lifetime> lifetimes(plan.tensors.size());
  for (TensorId id : ExistBefore(plan, phase)) lifetimes[id] = {-1, -1};
  for (size_t i = 0; i < steps.size(); ++i) {
    auto mention = [&](TensorId id) {
      if (!lifetimes[id].Exists()) lifetimes[id].birth = static_cast<int>(i);
      lifetimes[id].death = static_cast<int>(i);
    };
    ForEachUse(steps[i], mention);
    ForEachResult(steps[i], mention);
  }
  for (TensorId id : ExistAfter(plan, phase)) {
    if (lifetimes[id].Exists()) lifetimes[id].death = static_cast<int>(steps.size());
  }
  return lifetimes;
}

std::vector<Lifetime> StorageLifetimes(const Plan& plan, Phase phase) {
  std::vector<Lifetime> storages(plan.storages.size());
  auto tensors = TensorLifetimes(plan, phase);
  for (size_t id = 0; id < tensors.size(); ++id) {
    if (!tensors[id].Exists()) continue;
    Lifetime& storage = storages[plan.tensors[id].storage];
    storage.birth = storage.Exists() ? std::min(storage.birth, tensors[id].birth) : tensors[id].birth;
    storage.death = std::max(storage.death, tensors[id].death);
  }
  return storages;
}

int64_t PeakBytes(const Plan& plan, Phase phase) {
  int steps = static_cast<int>(StepsOf(plan, phase).size());
  std::vector<int64_t> born(steps + 2, 0), died(steps + 2, 0);  // index: step + 1
  auto lifetimes = StorageLifetimes(plan, phase);
  for (size_t id = 0; id < lifetimes.size(); ++id) {
    if (!lifetimes[id].Exists()) continue;
    auto& birth = born[lifetimes[id].birth + 1];
    auto& death = died[lifetimes[id].death + 1];
    birth = SaturatingAdd(birth, plan.storages[id]);
    death = SaturatingAdd(death, plan.storages[id]);
  }
  int64_t live = 0, peak = 0;
  for (int at = 0; at < steps + 2; ++at) {
    live = SaturatingAdd(live, born[at]);
    peak = std::max(peak, live);
    live -= died[at];
  }
  return peak;
}

int64_t PeakBytes(const Plan& plan) {
  return std::max(
      {PeakBytes(plan, Phase::kGenerate), PeakBytes(plan, Phase::kSetup), PeakBytes(plan, Phase::kRun)});
}

}  // namespace tritogen
