#include "verify/verifier_carry.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "verify/replay_engine.h"
#include "verify/verifier_second_look.h"
#include "verify/verifier_trial_loan.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

std::string_view LastPart(std::string_view name) {
  return name.substr(name.rfind('.') + 1);
}

// How the reference treats state with this name, shape and dtype.
enum class Treatment { kUnknown, kLeavesAlone, kUpdates };

Treatment TreatmentOf(const Plan& reference, const std::set<StorageId>& updated, const std::string& name,
                      const TensorMeta& meta) {
  Treatment treatment = Treatment::kUnknown;
  for (const StateEntry& entry : reference.state) {
    const TensorMeta& ours = reference.tensors[entry.tensor];
    const bool updates = updated.contains(ours.storage);
    if (entry.name == name) return updates ? Treatment::kUpdates : Treatment::kLeavesAlone;
    // Under another name: "running_mean" for "norm.running_mean".
    const bool alike = ours.sizes == meta.sizes && ours.dtype == meta.dtype;
    if (updates && alike && LastPart(entry.name) == LastPart(name)) treatment = Treatment::kUpdates;
  }
  return treatment;
}

Objection Carried(const Plan& candidate, TensorId id, const std::string& detail) {
  const std::string name = StorageNames(candidate)[candidate.tensors[id].storage];
  return {Outcome::kRejected,
          fmt::format("what one call leaves in {} decides what the next one does ({})", name, detail),
          "carried_state",
          {{"buffer", name}}};
}

}  // namespace

std::optional<Objection> CheckCarried(const Task::Impl& task, const Bindings& bindings, const Trial& trial,
                                      const Plan& candidate, const std::vector<TensorId>& changed,
                                      ReplayOptions options) {
  const std::set<StorageId> updated = WrittenStorages(task.plan);
  for (TensorId id : changed) {
    bool allowed = false;
    for (const StateEntry& entry : candidate.state) {
      const TensorMeta& meta = candidate.tensors[entry.tensor];
      if (meta.storage != candidate.tensors[id].storage) continue;
      const Treatment treatment = TreatmentOf(task.plan, updated, entry.name, meta);
      allowed |= treatment == Treatment::kUpdates;
      if (treatment != Treatment::kLeavesAlone) continue;
      return Objection{Outcome::kRejected,
                       fmt::format("state '{}' is changed by the call, the reference leaves it", entry.name),
                       "state_mutated",
                       {{"state", entry.name}}};
    }
    if (!allowed) options.forgotten.push_back(id);
  }
  if (options.forgotten.empty()) return std::nullopt;
  Replayer replayer(candidate, options);
  TensorList outputs;
  auto failure = SetUp(task, candidate, bindings, &replayer);
  TrialLoan loan(trial);
  if (!failure) failure = replayer.Run(CloneAll(loan.trial().inputs), trial.run_seed, &outputs);
  if (failure) {
    if (failure->kind != ReplayFailure::Kind::kMemoryError) return std::nullopt;
    Objection objection = Carried(candidate, options.forgotten[0], failure->message);
    if (failure->line > 0) objection.evidence["line"] = failure->line;
    return objection;
  }
  const std::vector<Comparison> comparisons = CompareAll(task, loan.Expected(), outputs);
  for (size_t i = 0; i < comparisons.size(); ++i) {
    if (comparisons[i].ok) continue;
    return Carried(candidate, options.forgotten[0], fmt::format("output {} depends on it", i));
  }
  return std::nullopt;
}

}  // namespace tritogen
