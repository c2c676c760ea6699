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

// By what a call multiplies its first argument, where it does nothing else.
std::optional<double> TimesOf(const AtenStep& step) {
  const std::string_view name = OutOfPlaceName(step);
  if ((name != "aten::mul" && name != "aten::div") || step.args.size() != 2) return std::nullopt;
  const auto* real = std::get_if<double>(&step.args[1].v);
  const auto* integer = std::get_if<int64_t>(&step.args[1].v);
  if (real == nullptr && integer == nullptr) return std::nullopt;
  const double number = real != nullptr ? *real : static_cast<double>(*integer);
  if (number == 0 || !std::isfinite(number)) return std::nullopt;
  return name == "aten::mul" ? number : 1 / number;
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
  const OpKind kind = KindOf(plan_, step);
  const auto times = TimesOf(step);
  const bool plain = times || kind == OpKind::kView || kind == OpKind::kLayout;
  for (auto& [leaf, arrival] : local) arrival = {arrival.times * times.value_or(1), arrival.plain && plain};
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
