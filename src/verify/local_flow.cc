#include "verify/local_flow.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "plan/visit.h"
#include "program/catalogue.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

constexpr std::string_view kPlaceToPlace[] = {
    "aten::_to_copy",        "aten::cat",          "aten::stack",  "aten::gather",
    "aten::index_select",    "aten::index",        "aten::flip",   "aten::roll",
    "aten::repeat",          "aten::tril",         "aten::triu",   "aten::pad",
    "aten::copy_",           "aten::unfold",       "aten::im2col", "aten::select_scatter",
    "aten::constant_pad_nd", "aten::slice_scatter"};
constexpr std::string_view kPools[] = {"aten::max_pool", "aten::avg_pool", "aten::adaptive_max_pool",
                                       "aten::adaptive_avg_pool", "aten::_adaptive_avg_pool"};

// Of a line, whose size is that of its largest element, or nearly.
constexpr std::string_view kSums[] = {"aten::sum",  "aten::mean", "aten::var",  "aten::std",
                                      "aten::norm", "aten::amax", "aten::amin", "aten::linalg_vector_norm"};

std::optional<double> NumberOf(const Value* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* real = std::get_if<double>(&value->v)) return *real;
  const auto* integer = std::get_if<int64_t>(&value->v);
  return integer == nullptr ? std::nullopt : std::optional(static_cast<double>(*integer));
}

struct Affine {
  double times = 1, plus = 0;
};

// By what a call multiplies its first argument and what it adds, where it does nothing else.
std::optional<Affine> AffineOf(const AtenStep& step) {
  constexpr std::string_view kAdditions[] = {"aten::add", "aten::sub", "aten::rsub"};
  const std::string_view name = OutOfPlaceName(step);
  if (name == "aten::neg") return Affine{-1, 0};
  const auto number = step.args.size() < 2 ? std::nullopt : NumberOf(&step.args[1]);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  if (OneOf(name, kAdditions)) {
    const double alpha = NumberOf(FindArgument(step, "alpha")).value_or(1);
    if (name == "aten::rsub") return Affine{-alpha, *number};
    return Affine{1, (name == "aten::add" ? alpha : -alpha) * *number};
  }
  if ((name != "aten::mul" && name != "aten::div") || step.args.size() != 2 || *number == 0)
    return std::nullopt;
  return Affine{name == "aten::mul" ? *number : 1 / *number, 0};
}

bool AddsTensors(const AtenStep& step) {
  const std::string_view name = OutOfPlaceName(step);
  return (name == "aten::add" || name == "aten::sub") && step.args.size() > 1 &&
         std::holds_alternative<TensorRef>(step.args[1].v);
}

// What arrives where a call has done what it does.
Arrival Behind(const Plan& plan, const AtenStep& step, const Arrival& before) {
  const OpKind kind = KindOf(plan, step);
  const auto affine = AffineOf(step);
  const Affine by = affine.value_or(Affine{});
  const bool plain = affine ? by.plus == 0 : kind == OpKind::kView || kind == OpKind::kLayout;
  return {.times = before.times * by.times,
          .plus = before.plus * by.times + by.plus,
          .plain = before.plain && plain,
          .mixed = before.mixed || AddsTensors(step)};
}

template <typename M>
M ReachedBy(const Plan& plan, const std::map<StorageId, M>& reached, const AtenStep& step) {
  M all;
  for (const StorageId id : StoragesRead(plan, step)) {
    if (const auto found = reached.find(id); found != reached.end())
      all.insert(found->second.begin(), found->second.end());
  }
  return all;
}

}  // namespace

bool IsLocal(const Plan& plan, const AtenStep& step) {
  const OpKind kind = KindOf(plan, step);
  const std::string_view base = WithoutOverload(step.op);
  return kind == OpKind::kView || kind == OpKind::kLayout || TraitsOf(step.op).pointwise ||
         OneOf(base, kPlaceToPlace) ||
         std::ranges::any_of(kPools, [&](std::string_view p) { return base.starts_with(p); });
}

Storages StoragesRead(const Plan& plan, const AtenStep& step) {
  Storages storages;
  for (const TensorId id : ReadArguments(step)) storages.insert(plan.tensors[id].storage);
  return storages;
}

Storages StoragesMade(const Plan& plan, const AtenStep& step) {
  Storages storages;
  for (const TensorId id : WrittenArguments(step)) storages.insert(plan.tensors[id].storage);
  for (const TensorId id : step.outs) {
    if (id != kNoTensor) storages.insert(plan.tensors[id].storage);
  }
  return storages;
}

InputFlow::InputFlow(const Plan& plan) : plan_(plan) {
  const std::vector<TensorId> leaves = TensorLeaves(plan.inputs);
  for (size_t i = 0; i < leaves.size(); ++i) {
    local_[plan.tensors[leaves[i]].storage][i] = {};
    summed_[plan.tensors[leaves[i]].storage].insert(i);
    anywhere_[plan.tensors[leaves[i]].storage].insert(i);
  }
}

InputFlow::Arrived InputFlow::Pass(const AtenStep& step) {
  Arrived arrived{ReachedBy(plan_, local_, step), ReachedBy(plan_, summed_, step),
                  ReachedBy(plan_, anywhere_, step)};
  const bool sums = IsLocal(plan_, step) || OneOf(WithoutOverload(step.op), kSums);
  Arrivals local = IsLocal(plan_, step) ? arrived.local : Arrivals();
  for (auto& [leaf, arrival] : local) arrival = Behind(plan_, step, arrival);
  for (const StorageId id : StoragesMade(plan_, step)) {
    anywhere_[id].insert(arrived.anywhere.begin(), arrived.anywhere.end());
    if (sums) summed_[id].insert(arrived.summed.begin(), arrived.summed.end());
    for (const auto& [leaf, arrival] : local) local_[id][leaf] = arrival;
  }
  return arrived;
}

std::string_view OutOfPlaceName(const AtenStep& step) {
  std::string_view base = WithoutOverload(step.op);
  if (IsInPlace(base)) base.remove_suffix(1);
  return base;
}

}  // namespace tritogen
