#include "verify/verifier_state.h"

#include <algorithm>

namespace tritogen {
namespace {

bool SameMeta(const Plan& a, TensorId x, const Plan& b, TensorId y) {
  return a.tensors[x].sizes == b.tensors[y].sizes && a.tensors[x].dtype == b.tensors[y].dtype;
}

const StateEntry* FindState(const Plan& plan, const std::string& name) {
  const auto found =
      std::find_if(plan.state.begin(), plan.state.end(), [&](const StateEntry& e) { return e.name == name; });
  return found == plan.state.end() ? nullptr : &*found;
}

}  // namespace

bool MatchesByName(const Task::Impl& task, const Plan& candidate) {
  auto matches = [](const Plan& a, const StateEntry& entry, const Plan& b) {
    const StateEntry* other = FindState(b, entry.name);
    return other != nullptr && other->is_parameter == entry.is_parameter &&
           SameMeta(a, entry.tensor, b, other->tensor);
  };
  for (const StateEntry& entry : task.plan.state) {
    const bool replaced =
        std::find(task.replaced.begin(), task.replaced.end(), entry.name) != task.replaced.end();
    const bool needed = entry.is_parameter || (replaced && task.flow.Reaches(task.plan, entry.tensor));
    if (needed && !matches(task.plan, entry, candidate)) return false;
  }
  return std::all_of(candidate.state.begin(), candidate.state.end(), [&](const StateEntry& entry) {
    return !entry.is_parameter || matches(candidate, entry, task.plan);
  });
}

Bindings BindingsFor(const Task::Impl& task, const Setting& setting, const Plan& candidate) {
  Bindings bindings;
  for (const auto& [name, value] : setting.bindings) {
    const StateEntry* theirs = FindState(candidate, name);
    const StateEntry* ours = FindState(task.plan, name);
    if (theirs != nullptr && SameMeta(candidate, theirs->tensor, task.plan, ours->tensor))
      bindings[name] = value;
  }
  return bindings;
}

}  // namespace tritogen
