// ATen calls with something moved: what budgets are measured with.
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "device/aten_dtype.h"
#include "device/random.h"
#include "plan/visit.h"
#include "verify/budget.h"
#include "verify/inputs.h"
#include "verify/least_normal.h"
#include "verify/replay_engine.h"
#include "verify/work.h"

namespace tritogen {

namespace {

constexpr double kInfinite = 1.6e308;  // and more, up to what fp64 holds

// Numbers in the place of infinities, which are equal: all as far, give or take a percent.
at::Tensor WithNumbered(const at::Tensor& values, const at::Tensor& order) {
  constexpr double kFar = 1.7e308, kApart = 0.01;
  return at::where(values.isinf(), values.sign() * kFar + kFar * kApart * order, values);
}

at::Tensor WithInfinities(const at::Tensor& values) {
  if (values.scalar_type() != at::kDouble) return values;
  const at::Tensor infinite = values.sign() * std::numeric_limits<double>::infinity();
  return at::where(values.abs() >= kInfinite, infinite, values);
}

}  // namespace

std::vector<at::Tensor> ReplayEngine::CallOrdered(const AtenStep& step, const AtenCall& call) {
  const auto* sorted = step.args.empty() ? nullptr : std::get_if<TensorRef>(&step.args[0].v);
  if (sorted == nullptr || slots_[sorted->id].scalar_type() != at::kDouble)
    return call.Call(slots_, &random_);
  // What is computed is equal when the program's own precision can hardly tell it apart; an input's values
  // are what they are.
  const TensorMeta& meta = plan_.tensors[sorted->id];
  const std::vector<TensorId> inputs = TensorLeaves(plan_.inputs);
  const bool given = std::any_of(inputs.begin(), inputs.end(),
                                 [&](TensorId id) { return plan_.tensors[id].storage == meta.storage; });
  const at::ScalarType dtype = given ? at::kDouble : ToScalarType(meta.dtype);
  const double unit = given ? 0x1p-51 : 2 * UnitRoundoff(dtype);
  // All that hardware makes zeros of is equal; and what is 0.
  const double least = std::max(LeastNormal(dtype), 1e-290);
  const at::Tensor values = slots_[sorted->id];
  const double size = std::max<double>(1, values.numel());
  const at::Tensor order =
      at::arange(values.numel(), values.options()).view(values.sizes()) * (options_.order_of_equals / size);
  const at::Tensor moved =
      at::where(values.isfinite(), values + (unit * values.abs() + least) * order, values);
  const bool made = !given && std::ranges::count(call_storages_, meta.storage) > 0;
  const bool stays = made && values.is_non_overlapping_and_dense();
  if (stays) values.copy_(moved);  // for the whole call: who compares with what was picked must find it
  slots_[sorted->id] = WithNumbered(moved, order);
  std::vector<at::Tensor> results = call.Call(slots_, &random_);
  slots_[sorted->id] = values;
  if (!call.writes().empty()) return results;
  for (at::Tensor& result : results) result = WithInfinities(result);
  if (stays) return results;
  // What is given, or was set up, is in the same places in every order.
  const std::vector<at::Tensor> unmoved = call.Call(slots_, &random_);
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].scalar_type() == at::kDouble) results[i] = unmoved[i];
  }
  return results;
}

std::vector<at::Tensor> ReplayEngine::CallCut(const AtenStep& step, const AtenCall& call) {
  std::vector<std::pair<TensorId, at::Tensor>> whole;
  for (const TensorId id : Float32Factors(plan_, step)) {
    const auto& writes = call.writes();
    const bool written = std::find(writes.begin(), writes.end(), id) != writes.end();
    if (written || slots_[id].scalar_type() != at::kDouble) continue;
    const uint64_t seed = options_.tf32_seed == 0 ? 0 : SubSeed(options_.tf32_seed, ++cuts_);
    whole.emplace_back(id, slots_[id]);
    slots_[id] = CutToTf32(slots_[id], seed);
  }
  std::vector<at::Tensor> results =
      IsAttention(step) && whole.size() == 3 ? AttendCut(whole[2].first, call) : CallProbed(step, call);
  for (auto it = whole.rbegin(); it != whole.rend(); ++it) slots_[it->first] = it->second;
  return results;
}

void ReplayEngine::MoveCast(const AtenStep& step, at::Tensor* result) {
  if (result->scalar_type() != at::kDouble) return;
  const at::ScalarType half = ToScalarType(plan_.tensors[step.outs[0]].dtype);
  const double unit = options_.moves_casts * UnitRoundoff(half);
  const Random random(SubSeed(cast_seed_, ++casts_), result->device());
  const at::Tensor moved = *result * (1 + random.Uniform(result->sizes(), -unit, unit));
  *result = at::where(result->to(half).eq(*result), *result, moved);
}

std::vector<at::Tensor> ReplayEngine::CallProbed(const AtenStep& step, const AtenCall& call) {
  Probe* result = nullptr;
  std::vector<std::pair<TensorId, at::Tensor>> whole;  // what stays as it is behind the call
  const auto& writes = call.writes();
  const auto none = std::span<Probe>();
  for (Probe& probe : options_.probes ? std::span(*options_.probes) : none) {
    if (probe.step != &step) continue;
    if (probe.of_result) {
      result = &probe;
      continue;
    }
    at::Tensor& argument = slots_[probe.tensor];
    probe.seen = argument.clone();
    if (!probe.nudge.defined()) continue;
    if (std::find(writes.begin(), writes.end(), probe.tensor) != writes.end()) {
      argument.add_(probe.nudge);
    } else {
      whole.emplace_back(probe.tensor, argument);
      argument = argument + probe.nudge;
    }
  }
  std::vector<at::Tensor> results = call.Call(slots_, &random_);
  for (const auto& [id, argument] : whole) slots_[id] = argument;
  if (result != nullptr) {
    result->seen = results.at(0).clone();
    if (result->nudge.defined()) results[0].add_(result->nudge);
  }
  return results;
}

// Attention multiplies its weights, too, which are no argument: they are what it gives for the identity as
// values.
std::vector<at::Tensor> ReplayEngine::AttendCut(TensorId value, const AtenCall& call) {
  at::Tensor values = slots_[value];
  const int64_t keys = values.size(-2);
  std::vector<int64_t> sizes = values.sizes().vec();
  sizes.back() = keys;
  slots_[value] = at::eye(keys, values.options()).expand(sizes);
  const at::Tensor weights = call.Call(slots_, &random_).at(0);
  if (values.dim() > 2 && values.size(-3) != weights.size(-3))  // heads that several queries share
    values = values.repeat_interleave(weights.size(-3) / values.size(-3), -3);
  const uint64_t seed = options_.tf32_seed == 0 ? 0 : SubSeed(options_.tf32_seed, ++cuts_);
  return {at::matmul(CutToTf32(weights, seed), values)};
}

}  // namespace tritogen
