#include "verify/verifier_displaced.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "plan/visit.h"
#include "verify/random.h"
#include "verify/verifier_evidence.h"
#include "verify/verifier_state.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

// Beyond what blocks are filled up with, and what a maximum begins at: 0, -1, -100, mostly -1000. Half types
// get no more than float16 can multiply a few times.
constexpr double kLeastDepth = 400, kMostDepth = 4000, kDepthOfHalves = 30;

// Towards which side a call takes elements: -1 where the largest count, 1 where the smallest do.
int SideOf(const AtenStep& step) {
  if (!IsExtremum(step)) return 0;
  const std::string_view base = WithoutOverload(step.op);
  const bool smallest = base.find("min") != base.npos && base.find("minmax") == base.npos;
  return smallest ? 1 : -1;
}

// To which side biases are moved; 0: to none. Where both count one of them, by chance.
int SideOf(const Plan& plan, const Random& random) {
  bool low = false, high = false;
  for (const Step& step : plan.run) {
    const auto* aten = std::get_if<AtenStep>(&step);
    const int side = aten == nullptr ? 0 : SideOf(*aten);
    low |= side < 0;
    high |= side > 0;
  }
  if (low && high) return random.Number(0, 1) < 0.5 ? -1 : 1;
  return low ? -1 : high ? 1 : 0;
}

double DepthOf(bool narrow, const Random& random) {
  return narrow ? kDepthOfHalves : kLeastDepth * std::pow(kMostDepth / kLeastDepth, random.Number(0, 1));
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

const Setting* Task::Impl::Displaced() const {
  std::call_once(displaced_once_, [this] {
    if (spares_memory || options.confirm) return;
    const Random random(SubSeed(weight_seed, 1000), at::kCPU);
    const int side = SideOf(plan, random);
    if (side == 0) return;
    const double shift = side * DepthOf(narrow, random);
    Bindings bindings = bound.bindings;
    bool any = false;
    for (const StateEntry& entry : plan.state) {
      const auto found = bindings.find(entry.name);
      if (found == bindings.end() || !IsBias(entry, plan.tensors[entry.tensor], found->second)) continue;
      found->second = found->second + shift;
      any = true;
    }
    if (!any) return;
    const Deadline deadline(options.budget_seconds);
    auto made = MakeSetting(*this, std::move(bindings), deadline, /*first_only=*/true);
    auto* setting = std::get_if<Setting>(&made);
    if (setting == nullptr || !std::ranges::all_of(setting->trials, IsFinite)) return;
    setting->fresh.reset();  // nobody adds to it, and its memory is the device's
    displaced_ = std::move(*setting);
  });
  return displaced_ ? &*displaced_ : nullptr;
}

std::optional<Objection> CheckDisplaced(const Task::Impl& task, const Plan& candidate,
                                        const ReplayOptions& options, TrialRuns* runs) {
  const Setting* displaced = task.Displaced();
  if (displaced == nullptr) return std::nullopt;
  Replayer replayer(candidate, options);
  if (auto failure = SetUp(task, candidate, BindingsFor(task, *displaced, candidate), &replayer))
    return ObjectionOf(*failure);
  // Each variant costs a set-up and calls. As generated, results lie where the biases are, all of them, which
  // a `spread` trial does not promise.
  const size_t skipped = options.variant == 0 ? 0 : displaced->trials.size() - 1;
  for (const Trial& trial : std::span(displaced->trials).subspan(skipped)) {
    auto objection = runs->Run(replayer, trial);
    if (!objection) continue;
    objection->reason = "with biases far from zero: " + objection->reason;
    return objection;
  }
  return std::nullopt;
}

}  // namespace tritogen
