#include "verify/meant_infinities.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "plan/visit.h"

namespace tritogen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void Name(const Value& value, NonFinite* named) {
  if (const auto* number = std::get_if<double>(&value.v)) {
    named->above |= *number == kInfinity;
    named->below |= *number == -kInfinity;
    named->nan |= std::isnan(*number);
  }
  if (const Value::List* items = Items(value)) {
    for (const Value& item : *items) Name(item, named);
  }
}

}  // namespace

NonFinite NonFiniteIn(const at::Tensor& floating) {
  if (floating.isfinite().all().item<bool>()) return {};
  return {floating.isposinf().any().item<bool>(), floating.isneginf().any().item<bool>(),
          floating.isnan().any().item<bool>()};
}

NonFinite NonFiniteNamed(const Plan& plan) {
  NonFinite named;
  for (const auto* steps : {&plan.setup, &plan.run}) {
    for (const Step& step : *steps) {
      const auto* aten = std::get_if<AtenStep>(&step);
      if (aten == nullptr) continue;
      for (const Value& value : aten->args) Name(value, &named);
      for (const auto& [name, value] : aten->kwargs) Name(value, &named);
    }
  }
  return named;
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
