// StorageNames of replay_engine.h.
#include <fmt/format.h>

#include "plan/visit.h"
#include "verify/replay_engine.h"

namespace tritogen {
namespace {

std::string MadeBy(const Step& step) {
  if (std::holds_alternative<ConstantStep>(step)) return fmt::format("constant at line {}", LineOf(step));
  std::string_view op = WithoutOverload(std::get<AtenStep>(step).op);
  return fmt::format("torch.{} at line {}", op.substr(op.find("::") + 2), LineOf(step));
}

}  // namespace

std::vector<std::string> StorageNames(const Plan& plan) {
  std::vector<std::string> names(plan.storages.size());
  auto name = [&](TensorId id, auto make) {
    std::string& place = names[plan.tensors[id].storage];
    if (place.empty()) place = make();
  };
  auto name_leaves = [&](const std::vector<Value>& leaves, const char* word) {
    int index = 0;
    ForEachTensor(leaves,
                  [&](TensorId id) { name(id, [&] { return fmt::format("{} {}", word, index); }), ++index; });
  };
  name_leaves(plan.inputs, "input");
  for (const StateEntry& entry : plan.state) {
    name(entry.tensor,
         [&] { return fmt::format("{} {}", entry.is_parameter ? "parameter" : "buffer", entry.name); });
  }
  name_leaves(plan.outputs, "output");
  name_leaves(plan.init_inputs, "constructor input");
  name_leaves(plan.warmup_inputs, "first call's input");
  for (const auto* steps : {&plan.run, &plan.setup, &plan.generate}) {
    for (const Step& step : *steps)
      ForEachResult(step, [&](TensorId id) { name(id, [&] { return MadeBy(step); }); });
  }
  return names;
}

}  // namespace tritogen
