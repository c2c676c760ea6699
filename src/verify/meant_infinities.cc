#include "verify/meant_infinities.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "plan/visit.h"

namespace tritogen {
namespace {

bool HoldsNonFinite(const Value& value) {
  const auto* number = std::get_if<double>(&value.v);
  const Value::List* items = Items(value);
  return (number != nullptr && !std::isfinite(*number)) ||
         (items != nullptr && std::ranges::any_of(*items, HoldsNonFinite));
}

bool NamesNonFinite(const Step& step) {
  const auto* aten = std::get_if<AtenStep>(&step);
  return aten != nullptr &&
         (std::ranges::any_of(aten->args, HoldsNonFinite) ||
          std::ranges::any_of(aten->kwargs, [](const auto& named) { return HoldsNonFinite(named.second); }));
}

}  // namespace

NonFinite NonFiniteIn(const at::Tensor& floating) {
  if (floating.isfinite().all().item<bool>()) return {};
  return {floating.isposinf().any().item<bool>(), floating.isneginf().any().item<bool>(),
          floating.isnan().any().item<bool>()};
}

bool NamesNonFinite(const Plan& plan) {
  const auto names = [](const Step& step) { return NamesNonFinite(step); };
  return std::ranges::any_of(plan.run, names) || std::ranges::any_of(plan.setup, names);
}

at::Tensor WithMeant(const at::Tensor& base, NonFinite kind, const at::Tensor& exact, const at::Tensor& eager,
                     const std::vector<at::Tensor>& moved) {
  std::vector<at::Tensor> all = {exact, eager};
  all.insert(all.end(), moved.begin(), moved.end());
  at::Tensor meant = at::zeros_like(exact, at::kBool), agree;
  const auto add = [&](bool is_such, at::Tensor (*find)(const at::Tensor&)) {
    if (!is_such) return;
    at::Tensor everywhere = find(exact);
    for (const at::Tensor& one : all) everywhere = everywhere.logical_and(find(one));
    meant = meant.logical_or(everywhere);
  };
  add(kind.above, [](const at::Tensor& t) { return at::isposinf(t); });
  add(kind.below, [](const at::Tensor& t) { return at::isneginf(t); });
  add(kind.nan, [](const at::Tensor& t) { return at::isnan(t); });
  for (const at::Tensor& one : all) {
    const at::Tensor same = one.isfinite().eq(exact.isfinite()).all();
    agree = agree.defined() ? agree.logical_and(same) : same;
  }
  return at::where(meant.logical_and(agree), eager, base);
}

}  // namespace tritogen
