#include "verify/verifier_state.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"
#include "device/aten_dtype.h"
#include "verify/budget.h"
#include "verify/verifier_trial_loan.h"
#include "verify/work_ops.h"

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

bool SameValues(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() == b.numel() && a.scalar_type() == b.scalar_type() && a.flatten().equal(b.flatten());
}

// The entry of the candidate's state that stands for `name`, whose neutral values are `neutral`.
const StateEntry* Counterpart(const Plan& candidate, const std::map<std::string, at::Tensor>& state,
                              const Bindings& taken, const std::string& name, const at::Tensor& neutral) {
  const StateEntry* best = nullptr;
  int best_rank = 0;
  for (const StateEntry& entry : candidate.state) {
    if (taken.contains(entry.name) || !SameValues(state.at(entry.name), neutral)) continue;
    const int rank = entry.name == name ? 3 : LastPart(entry.name) == LastPart(name) ? 2 : 1;
    if (rank > best_rank) {
      best = &entry;
      best_rank = rank;
    }
  }
  return best;
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

std::optional<Objection> PairNeutralState(const Task::Impl& task, const Setting& setting,
                                          const Plan& candidate, const ReplayOptions& options,
                                          Bindings* bindings) {
  if (task.replaced.empty()) return std::nullopt;
  Replayer replayer(candidate, options);
  if (SetUp(task, candidate, {}, &replayer)) return std::nullopt;  // the trials will say what is wrong
  const std::map<std::string, at::Tensor> state = replayer.State();
  for (const std::string& name : task.replaced) {
    const StateEntry* entry = Counterpart(candidate, state, *bindings, name, task.neutral.at(name));
    if (entry != nullptr) {
      (*bindings)[entry->name] = setting.bindings.at(name).reshape(state.at(entry->name).sizes());
      continue;
    }
    const auto& seen = task.sensitive_state;
    if (std::find(seen.begin(), seen.end(), name) == seen.end()) continue;
    return Objection{
        Outcome::kRejected,
        fmt::format("'{}' has no counterpart in the candidate's state (give parameters the reference's "
                    "names)",
                    name),
        "neutral_parameters",
        {{"state", name}}};
  }
  return std::nullopt;
}

std::string NeglectedState::Note() const {
  const size_t count = unchanged.size() + other.size();
  if (count == 0) return "";
  return fmt::format("state '{}'{} holds other values after the call than the reference leaves there",
                     unchanged.empty() ? other[0] : unchanged[0],
                     count == 1 ? "" : fmt::format(" (and {} more)", count - 1));
}

namespace {

// Whether an update is the reference's: what it adds counts, which may be little beside what stood there.
// `rough`: of what half precision or TF32 have rounded.
bool SameUpdate(const at::Tensor& before, const at::Tensor& want, const at::Tensor& got, bool rough) {
  const double kRelative = rough ? 1e-2 : 1e-4;  // n - 1 for n is meant, not their last places
  constexpr double kAbsolute = 1e-5;
  if (!want.is_floating_point() || want.numel() == 0) return got.equal(want);
  const at::Tensor from = before.to(at::kDouble);
  const at::Tensor due = at::nan_to_num(want.to(at::kDouble) - from).abs();
  const at::Tensor allowed =
      kRelative * due.max() + kAbsolute * due + 4 * UnitRoundoff(want.scalar_type()) * from.abs();
  const at::Tensor off = (got.to(at::kDouble) - want.to(at::kDouble)).abs();
  return ((off <= allowed) | (got.isnan() & want.isnan())).all().item<bool>();
}

}  // namespace

NeglectedState FindNeglectedState(const Task::Impl& task, const Setting& setting, const Bindings& bindings,
                                  const Trial& trial, const Plan& candidate, const ReplayOptions& options) {
  const std::set<StorageId> updated = WrittenStorages(task.plan);
  std::vector<std::string> names;
  for (const StateEntry& entry : task.plan.state) {
    const StateEntry* theirs = FindState(candidate, entry.name);
    const bool updates = updated.contains(task.plan.tensors[entry.tensor].storage);
    if (updates && theirs != nullptr && SameMeta(task.plan, entry.tensor, candidate, theirs->tensor))
      names.push_back(entry.name);
  }
  if (names.empty()) return {};
  TrialLoan loan(trial);
  Replayer ours(task.plan, options), theirs(candidate, options);
  std::map<std::string, at::Tensor> before;
  auto run = [&](const Plan& plan, const Bindings& state, Replayer* replayer) {
    TensorList outputs;
    if (SetUp(task, plan, state, replayer)) return false;
    for (const auto& [name, value] : replayer->State()) before.insert_or_assign(name, value.clone());
    return !replayer->Run(CloneAll(loan.trial().inputs), trial.run_seed, &outputs);
  };
  if (!run(task.plan, setting.bindings, &ours) || !run(candidate, bindings, &theirs)) return {};
  const auto want = ours.State(), got = theirs.State();
  NeglectedState neglected;
  for (const std::string& name : names) {
    const at::Tensor &old = before.at(name), &due = want.at(name), &is = got.at(name);
    if (SameUpdate(old, due, is, task.narrow || task.cuts_factors)) continue;
    (is.equal(old) ? neglected.unchanged : neglected.other).push_back(name);
  }
  return neglected;
}

}  // namespace tritogen
