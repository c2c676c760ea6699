#include "verify/verifier_low.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "verify/verifier_evidence.h"
#include "verify/verifier_state.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

// Beyond what blocks are filled up with, and what a maximum begins at: 0, -1, -100. Half types get no more
// than float16 can multiply a few times.
constexpr double kDepth = 300, kDepthOfHalves = 30;

bool IsTakenForItsSize(const Plan& plan) {
  return std::ranges::any_of(plan.run, [](const Step& step) {
    const auto* aten = std::get_if<AtenStep>(&step);
    return aten != nullptr && IsExtremum(*aten);
  });
}

// Of biases there are as many as channels, and they are small; gains are about 1.
bool IsBias(const StateEntry& entry, const TensorMeta& meta, const at::Tensor& value) {
  return entry.is_parameter && meta.sizes.size() == 1 && IsFloating(meta.dtype) && value.numel() > 0 &&
         value.abs().max().item<double>() <= 1;
}

// In the declared precision and in fp64.
bool IsFinite(const Trial& trial) {
  return std::ranges::all_of(ExpectationsOf(trial), [](const Expectation* expected) {
    if (!at::isFloatingType(expected->dtype())) return true;
    return expected->differing() == 0 && expected->exact().isfinite().all().item<bool>();
  });
}

}  // namespace

const Setting* Task::Impl::Low() const {
  std::call_once(low_once_, [this] {
    if (spares_memory || options.confirm || !IsTakenForItsSize(plan)) return;
    Bindings bindings = bound.bindings;
    bool any = false;
    for (const StateEntry& entry : plan.state) {
      const auto found = bindings.find(entry.name);
      if (found == bindings.end() || !IsBias(entry, plan.tensors[entry.tensor], found->second)) continue;
      found->second = found->second - (narrow ? kDepthOfHalves : kDepth);
      any = true;
    }
    if (!any) return;
    const Deadline deadline(options.budget_seconds);
    auto made = MakeSetting(*this, std::move(bindings), deadline, /*first_only=*/true);
    auto* setting = std::get_if<Setting>(&made);
    if (setting == nullptr || !std::ranges::all_of(setting->trials, IsFinite)) return;
    low_ = std::move(*setting);
  });
  return low_ ? &*low_ : nullptr;
}

std::optional<Objection> CheckLow(const Task::Impl& task, const Plan& candidate, const ReplayOptions& options,
                                  TrialRuns* runs) {
  const Setting* low = task.Low();
  if (low == nullptr) return std::nullopt;
  Replayer replayer(candidate, options);
  if (auto failure = SetUp(task, candidate, BindingsFor(task, *low, candidate), &replayer))
    return ObjectionOf(*failure);
  for (const Trial& trial : low->trials) {
    auto objection = runs->Run(replayer, trial);
    if (!objection) continue;
    objection->reason = "with biases far below zero: " + objection->reason;
    return objection;
  }
  return std::nullopt;
}

}  // namespace tritogen
