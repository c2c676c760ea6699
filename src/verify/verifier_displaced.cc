#include "verify/verifier_displaced.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/random.h"
#include "plan/visit.h"
#include "verify/local_flow.h"
#include "verify/opposed_factors.h"
#include "verify/taken_weights.h"
#include "verify/verifier_evidence.h"
#include "verify/verifier_large.h"
#include "verify/verifier_state.h"
#include "verify/work.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

// Beyond what blocks are filled up with, and what a maximum begins at: 0, -1, -100, mostly -1000. Half types
// get no more than float16 can multiply a few times.
constexpr double kLeastDepth = 400, kMostDepth = 4000, kDepthOfHalves = 30;
// Of what is multiplied with each other first: the products lie as far from zero as the others, and float32
// still tells one from the next.
constexpr double kDepthOfFactors = 60;
// Both ways: exponentials of it overflow, and products of two such in attention lie beyond -10000. Where the
// reference does not bear that, no more than what is beyond usual bounds.
constexpr double kLeastBothWays = 140, kMostBothWays = 280, kMildBothWays = 30;

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

// Numbers far from zero are another case to these.
bool BoundsOrSaturates(const AtenStep& step) {
  constexpr std::string_view kOps[] = {"aten::clamp", "aten::clamp_min", "aten::clamp_max", "aten::hardtanh",
                                       "aten::prelu", "aten::sigmoid",   "aten::silu",      "aten::elu"};
  return HasExponential(step) || OneOf(OutOfPlaceName(step), kOps);
}

// What such calls are given themselves, as parameters may be.
Storages BoundedOrSaturated(const Plan& plan) {
  Storages given;
  for (const Step& step : plan.run) {
    const auto* aten = std::get_if<AtenStep>(&step);
    if (aten == nullptr || aten->args.empty() || !BoundsOrSaturates(*aten)) continue;
    if (const auto* tensor = std::get_if<TensorRef>(&aten->args[0].v))
      given.insert(plan.tensors[tensor->id].storage);
  }
  return given;
}

bool BoundsSaturatesOrAttends(const Plan& plan) {
  return std::ranges::any_of(plan.run, [](const Step& step) {
    const auto* aten = std::get_if<AtenStep>(&step);
    return aten != nullptr && (BoundsOrSaturates(*aten) || IsAttention(*aten));
  });
}

double DepthOf(bool narrow, const Random& random) {
  return narrow ? kDepthOfHalves : random.Magnitude(kLeastDepth, kMostDepth);
}

// Of biases there are as many as channels, and they are small; gains are about 1.
bool IsBias(const StateEntry& entry, const TensorMeta& meta, const at::Tensor& value) {
  return entry.is_parameter && meta.sizes.size() == 1 && IsFloating(meta.dtype) && value.numel() > 0 &&
         value.abs().max().item<double>() <= 1;
}

// A temperature or a slope.
bool IsSingle(const StateEntry& entry, const TensorMeta& meta, const at::Tensor& value) {
  return entry.is_parameter && IsFloating(meta.dtype) && value.numel() == 1;
}

// Weights of which `moved` has made others of some.
template <typename F>
std::optional<Bindings> Moved(const Task::Impl& task, const F& moved) {
  Bindings bindings = task.bound.bindings;
  bool any = false;
  for (const StateEntry& entry : task.plan.state) {
    const auto found = bindings.find(entry.name);
    if (found == bindings.end()) continue;
    std::optional<at::Tensor> value = moved(entry, task.plan.tensors[entry.tensor], found->second);
    if (!value) continue;
    found->second = *value;
    any = true;
  }
  return any ? std::optional(std::move(bindings)) : std::nullopt;
}

// To the side that counts, all of them.
std::optional<Bindings> ToOneSide(const Task::Impl& task) {
  const Random random(SubSeed(task.weight_seed, 1000), at::kCPU);
  const int side = SideOf(task.plan, random);
  if (side == 0) return std::nullopt;
  const double most = TakenWeightsOf(task.plan).multiplies_results ? kDepthOfFactors : kMostDepth;
  const double shift = side * std::min(DepthOf(task.narrow, random), most);
  return Moved(task, [&](const StateEntry& entry, const TensorMeta& meta, const at::Tensor& value) {
    return IsBias(entry, meta, value) ? std::optional(value + shift) : std::nullopt;
  });
}

// Each number to either side, but what is positive throughout, which may mean nothing else.
std::optional<Bindings> BothWays(const Task::Impl& task, double depth) {
  const uint64_t seed = SubSeed(task.weight_seed, 1002);
  const Storages given = BoundedOrSaturated(task.plan);
  return Moved(task, [&](const StateEntry& entry, const TensorMeta& meta, const at::Tensor& value) {
    const bool single = IsSingle(entry, meta, value);
    const bool itself = entry.is_parameter && IsFloating(meta.dtype) && given.contains(meta.storage);
    if (!single && !itself && !IsBias(entry, meta, value)) return std::optional<at::Tensor>();
    // Entries that share memory stay equal.
    const Random random(SubSeed(seed, meta.storage), value.device());
    const bool positive = single || value.ge(0).all().item<bool>();
    const at::Tensor shift = positive ? at::ones_like(value) : random.BothSigns(value.sizes());
    return std::optional(at::empty_like(value).copy_(value.to(at::kDouble) + shift.to(at::kDouble) * depth));
  });
}

// Single numbers with the other sign, where the one that they have is the constructor's: of one alone there
// is not some of either.
std::optional<Bindings> WithOtherSigns(const Task::Impl& task) {
  if (task.needs_full_rank) return std::nullopt;  // as in AsIfTrained
  return Moved(task, [&](const StateEntry& entry, const TensorMeta& meta, const at::Tensor& value) {
    const auto made = task.neutral.find(entry.name);
    if (!IsSingle(entry, meta, value) || made == task.neutral.end()) return std::optional<at::Tensor>();
    const bool was_negative = made->second.lt(0).item<bool>(), is_negative = value.lt(0).item<bool>();
    return was_negative == is_negative ? std::optional(value.neg()) : std::nullopt;
  });
}

// What is multiplied by weights that are taken for their size without a bias lies to one side where factors
// are near one; queries and keys to opposite sides.
std::optional<Bindings> WeightsToOneSide(const Task::Impl& task) {
  constexpr double kMostTerms = 8;  // the root of those of attention is about so large
  const TakenWeights taken = TakenWeightsOf(task.plan);
  const Random random(SubSeed(task.weight_seed, 1003), at::kCPU);
  const double most = MostDepth(task.plan);
  const double shift = SideOf(task.plan, random) * std::min(DepthOf(task.narrow, random), most);
  std::map<StorageId, double> shifts;
  for (const auto& [weight, terms] : taken.directly) shifts[weight] = shift / static_cast<double>(terms);
  double size = std::sqrt(most / kMostTerms);
  for (const auto& [weight, terms] : taken.in_pairs) {
    // Half types would not tell one score from the next.
    if (!task.narrow) shifts[weight] = size / static_cast<double>(terms);
    size = -size;
  }
  const bool packed = taken.in_pairs.size() == 1;  // queries and keys in one: of half the heads
  return Moved(task, [&](const StateEntry& entry, const TensorMeta& meta, const at::Tensor& value) {
    const auto found = shifts.find(meta.storage);
    if (!entry.is_parameter || found == shifts.end()) return std::optional<at::Tensor>();
    std::vector<int64_t> rows(value.dim(), 1);
    rows[0] = value.size(0);
    const at::Tensor signs = packed ? random.Signs(rows) : at::ones(rows, random.options());
    return std::optional(value + (signs * found->second).to(value.device(), value.scalar_type()));
  });
}

// In the declared precision and in fp64.
bool IsFinite(const Trial& trial) {
  return std::ranges::all_of(ExpectationsOf(trial), [](const Expectation* expected) {
    if (!at::isFloatingType(expected->dtype())) return true;
    return expected->differing() == 0 && expected->exact().isfinite().all().item<bool>();
  });
}

// False where the reference does not bear it.
bool AddDisplaced(const Task::Impl& task, Bindings bindings, Extent extent, std::vector<Setting>* settings,
                  const char* which = "biases or other parameters far from zero") {
  const Deadline deadline(task.options.budget_seconds);
  auto made = MakeSetting(task, std::move(bindings), deadline, extent, /*displaced=*/true);
  auto* setting = std::get_if<Setting>(&made);
  if (setting == nullptr || !std::ranges::all_of(setting->trials, IsFinite)) return false;
  if (extent == Extent::kNearOne) {
    if (setting->trials.size() < 2) return false;
    setting->trials.pop_back();  // as generated results lie on both sides
  }
  setting->which = which;
  TRITOGEN_CHECK(!task.keeps_no_trials);  // else trials are made again by what is let go here
  setting->fresh.reset();                 // nobody adds to it, and its memory is the device's
  settings->push_back(std::move(*setting));
  return true;
}

// As far as the reference bears it.
void AddBothWays(const Task::Impl& task, std::vector<Setting>* settings) {
  if (!BoundsSaturatesOrAttends(task.plan)) return;
  const Random random(SubSeed(task.weight_seed, 1001), at::kCPU);
  const double most = random.Number(kLeastBothWays, kMostBothWays);
  for (const double depth : {most, kMildBothWays}) {
    if (task.narrow && depth != kMildBothWays) continue;
    auto moved = BothWays(task, depth);
    if (!moved || AddDisplaced(task, std::move(*moved), Extent::kGenerated, settings)) return;
  }
}

std::vector<Setting> MakeDisplaced(const Task::Impl& task) {
  std::vector<Setting> settings;
  if (task.spares_memory || task.options.confirm) return settings;
  if (!task.constructed.empty())
    AddDisplaced(task, task.constructed, Extent::kGenerated, &settings, "parameters as constructed");
  if (auto moved = ToOneSide(task)) AddDisplaced(task, std::move(*moved), Extent::kFirst, &settings);
  if (auto moved = WeightsToOneSide(task)) AddDisplaced(task, std::move(*moved), Extent::kNearOne, &settings);
  if (auto moved = WithOtherSigns(task)) AddDisplaced(task, std::move(*moved), Extent::kFirst, &settings);
  AddBothWays(task, &settings);
  return settings;
}

std::optional<Objection> CheckOne(const Task::Impl& task, const Setting& displaced, const Plan& candidate,
                                  const ReplayOptions& options, TrialRuns* runs) {
  Replayer replayer(candidate, options);
  if (auto failure = SetUp(task, candidate, BindingsFor(task, displaced, candidate), &replayer))
    return ObjectionOf(*failure);
  // Each variant costs a set-up and calls. In the last trial results lie where the biases are, all of them,
  // which a `spread` trial does not promise.
  const size_t skipped = options.variant == 0 ? 0 : displaced.trials.size() - 1;
  for (const Trial& trial : std::span(displaced.trials).subspan(skipped)) {
    auto objection = runs->Run(replayer, trial, /*notes_changes=*/false);
    if (!objection) continue;
    objection->reason = fmt::format("with {}: {}", displaced.which, objection->reason);
    return objection;
  }
  return std::nullopt;
}

}  // namespace

const std::vector<Setting>& Task::Impl::Displaced() const {
  std::call_once(displaced_once_, [this] { displaced_ = MakeDisplaced(*this); });
  return displaced_;
}

std::optional<Objection> CheckDisplaced(const Task::Impl& task, const Plan& candidate,
                                        const ReplayOptions& options, TrialRuns* runs) {
  for (const Setting& displaced : task.Displaced()) {
    if (auto objection = CheckOne(task, displaced, candidate, options, runs)) return objection;
  }
  return std::nullopt;
}

}  // namespace tritogen
