#include "plan/lift_setup.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "plan/visit.h"
#include "program/program.h"

namespace tritogen {
namespace {

constexpr size_t kMostSteps = 256;
constexpr int64_t kMostElements = int64_t{1} << 24;  // of one tensor

bool Draws(std::string_view op) {
  constexpr std::array<std::string_view, 10> kDraws = {"rand",        "normal_",     "normal.",   "uniform",
                                                       "bernoulli",   "exponential", "geometric", "cauchy",
                                                       "multinomial", "dropout"};
  return std::ranges::any_of(kDraws, [&](std::string_view part) { return op.find(part) != op.npos; });
}

std::unordered_set<StorageId> StoragesOf(const Plan& plan, const std::vector<Value>& values) {
  std::unordered_set<StorageId> storages;
  ForEachTensor(values, [&](TensorId id) { storages.insert(plan.tensors[id].storage); });
  return storages;
}

}  // namespace

std::vector<const Step*> MakersInSetup(const Plan& plan, const std::unordered_set<TensorId>& wanted) {
  std::unordered_set<StorageId> there, needed;
  for (const StateEntry& entry : plan.state) there.insert(plan.tensors[entry.tensor].storage);
  const auto given = StoragesOf(plan, plan.warmup_inputs), of_init = StoragesOf(plan, plan.init_inputs);
  const auto need = [&](TensorId id) {
    const StorageId storage = plan.tensors[id].storage;
    if (there.count(storage) == 0) needed.insert(storage);
  };
  for (TensorId id : wanted) need(id);
  std::vector<const Step*> makers;
  for (size_t i = plan.setup.size(); i-- > 0;) {
    const Step& step = plan.setup[i];
    bool makes = false, fits = true;
    const auto touches = [&](TensorId id) { makes |= needed.count(plan.tensors[id].storage) > 0; };
    ForEachResult(step, touches);
    const auto* aten = std::get_if<AtenStep>(&step);
    if (std::holds_alternative<LaunchStep>(step)) ForEachUse(step, touches);
    if (!makes) continue;
    if (std::holds_alternative<LaunchStep>(step) || (aten != nullptr && Draws(aten->op))) return {};
    ForEachUse(step, [&](TensorId id) {
      const TensorMeta& tensor = plan.tensors[id];
      fits &= given.count(tensor.storage) == 0 && of_init.count(tensor.storage) == 0;
      need(id);
    });
    ForEachResult(step, [&](TensorId id) {
      const TensorMeta& tensor = plan.tensors[id];
      fits &= !IsComplex(tensor.dtype) && Shape{tensor.dtype, tensor.sizes}.numel() <= kMostElements;
    });
    makers.push_back(&step);
    if (!fits || makers.size() > kMostSteps) return {};
  }
  std::ranges::reverse(makers);
  return makers;
}

}  // namespace tritogen
