#include "verify/verifier_carry.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"
#include "verify/replay_engine.h"
#include "verify/verifier_evidence.h"
#include "verify/verifier_second_look.h"
#include "verify/verifier_trial_loan.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

// How the reference treats state with this name, shape and dtype. Unseen: it updates it, and no output
// depends on what stood there before the call.
enum class Treatment { kUnknown, kLeavesAlone, kUpdates, kUpdatesUnseen };

Treatment TreatmentOf(const Task::Impl& task, const std::set<StorageId>& updated, const std::string& name,
                      const TensorMeta& meta) {
  Treatment treatment = Treatment::kUnknown;
  for (const StateEntry& entry : task.plan.state) {
    const TensorMeta& ours = task.plan.tensors[entry.tensor];
    const bool updates = updated.contains(ours.storage);
    const bool alike = ours.sizes == meta.sizes && ours.dtype == meta.dtype;
    const Treatment update =
        task.unseen_state.contains(entry.name) ? Treatment::kUpdatesUnseen : Treatment::kUpdates;
    if (entry.name == name && !updates) return Treatment::kLeavesAlone;
    if (entry.name == name && alike) return update;
    // Under another name: "running_mean" for "norm.running_mean".
    if (!updates || !alike || LastPart(entry.name) != LastPart(name)) continue;
    treatment = treatment == Treatment::kUpdates ? treatment : update;
  }
  return treatment;
}

// Of memory that calls change, what must not matter to the next call: all but what the reference changes as
// well, and only where nothing else lies beside that. It becomes undefined before a call, or other than it
// was where the reference's outputs do not depend on it.
std::optional<Objection> Distrust(const Task::Impl& task, const std::set<StorageId>& updated,
                                  const Plan& candidate, TensorId changed, ReplayOptions* options) {
  const StorageId storage = candidate.tensors[changed].storage;
  bool known = false;
  for (const StateEntry& entry : candidate.state) {
    const TensorMeta& meta = candidate.tensors[entry.tensor];
    if (meta.storage != storage) continue;
    const Treatment treatment = TreatmentOf(task, updated, entry.name, meta);
    if (treatment == Treatment::kLeavesAlone) {
      return Objection{Outcome::kRejected,
                       fmt::format("state '{}' is changed by the call, the reference leaves it", entry.name),
                       "state_mutated",
                       {{"state", entry.name}}};
    }
    const int64_t bytes = meta.numel() * static_cast<int64_t>(DtypeSize(meta.dtype));
    if (treatment == Treatment::kUnknown || bytes != candidate.storages[storage]) continue;
    known = true;
    if (treatment == Treatment::kUpdatesUnseen) options->redrawn.push_back(entry.tensor);
  }
  if (!known) options->forgotten.push_back(changed);
  return std::nullopt;
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
    if (auto objection = Distrust(task, updated, candidate, id, &options)) return objection;
  }
  if (options.forgotten.empty() && options.redrawn.empty()) return std::nullopt;
  const TensorId suspect = options.forgotten.empty() ? options.redrawn.front() : options.forgotten.front();
  Replayer replayer(candidate, options);
  auto failure = SetUp(task, candidate, bindings, &replayer);
  TrialLoan loan(trial);
  // Undefined memory tells at once, other values only if they are such that the program looks for.
  constexpr int kRedraws = 4;
  for (int call = 0; call < (options.redrawn.empty() ? 1 : kRedraws); ++call) {
    TensorList outputs;
    if (!failure) failure = replayer.Run(CloneAll(loan.trial().inputs), trial.run_seed, &outputs);
    if (failure) {
      // What is slow enough would never be found out otherwise.
      if (failure->kind == ReplayFailure::Kind::kTimeout) return ObjectionOf(*failure);
      if (failure->kind != ReplayFailure::Kind::kMemoryError) return std::nullopt;
      Objection objection = Carried(candidate, suspect, failure->message);
      if (failure->line > 0) objection.evidence["line"] = failure->line;
      return objection;
    }
    const std::vector<Comparison> comparisons = CompareAll(task, loan.Expected(), outputs);
    for (size_t i = 0; i < comparisons.size(); ++i) {
      if (!comparisons[i].ok) return Carried(candidate, suspect, fmt::format("output {} depends on it", i));
    }
  }
  return std::nullopt;
}

}  // namespace tritogen
