#include "verify/local_flow.h"

#include <algorithm>

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

std::string_view OutOfPlaceName(const AtenStep& step) {
  std::string_view base = WithoutOverload(step.op);
  if (IsInPlace(base)) base.remove_suffix(1);
  return base;
}

}  // namespace tritogen
