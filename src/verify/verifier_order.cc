#include "verify/verifier_order.h"

#include <algorithm>
#include <set>

#include "verify/verifier_trial_maker.h"
#include "verify/work_ops.h"

namespace tritogen {

bool CarriesState(const Task::Impl& task) {
  const std::set<StorageId> updated = WrittenStorages(task.plan);
  return std::ranges::any_of(task.plan.state, [&](const StateEntry& entry) {
    return updated.contains(task.plan.tensors[entry.tensor].storage) &&
           !task.unseen_state.contains(entry.name);
  });
}

const Trial& FirstGenerated(const Setting& setting) {
  return *std::find_if(setting.trials.begin(), setting.trials.end(),
                       [](const Trial& t) { return t.distribution == Distribution::kGenerated; });
}

bool IsWatched(const Trial& trial) {
  return trial.distribution == Distribution::kSpread || trial.distribution == Distribution::kGenerated;
}

ReplayOptions Unwatched(ReplayOptions options) {
  options.order_seed ^= 1;
  options.leftovers = true;
  return options;
}

ReplayOptions UnwatchedInOrder(ReplayOptions options) {
  options = Unwatched(options);
  options.threads = 1;
  return options;
}

std::vector<const Trial*> TrialsInARow(const Task::Impl& task, const Setting& setting) {
  std::vector<const Trial*> row = {&FirstGenerated(setting)};
  if (task.draws_random) return row;
  for (const Trial& trial : setting.trials) {
    const bool last = &trial == &setting.trials.back();
    if (last || IsPlanted(trial.distribution)) row.push_back(&trial);
  }
  return row;
}

Row CallsOnOneState(const Task::Impl& task, const Setting& setting, const Deadline& deadline) {
  Row row{.alone = TrialsInARow(task, setting)};
  row.expected = row.alone;
  if (row.alone.size() == 1 || !CarriesState(task)) return row;
  row.expected.clear();
  if (row.alone[0]->remaker == nullptr) {
    ReferenceRuns runs(task, deadline, row.alone.size());
    Replayer none(task.plan, ReferenceOptionsFor(task.options, deadline));
    if (!runs.SetUp(setting.bindings)) row.made = TrialMaker(task, &runs, &none).ExpectInARow(row.alone);
  }
  for (const Trial& trial : row.made) row.expected.push_back(&trial);
  if (!row.made.empty()) return row;
  row.alone.resize(1);
  row.expected = row.alone;
  return row;
}

TrialsAlone TrialsOneByOne(const Task::Impl& task, const Setting& setting) {
  const std::vector<const Trial*> row = TrialsInARow(task, setting);
  TrialsAlone alone;
  for (const Trial& trial : setting.trials) {
    const bool later = std::find(row.begin() + 1, row.end(), &trial) != row.end();
    if (later && !task.options.confirm) continue;  // behind the first of the row
    if (IsWatched(trial)) alone.watched.push_back(&trial);
    const bool again = trial.distribution == Distribution::kSpread || !IsWatched(trial);
    if (again && !task.options.confirm) alone.unwatched.push_back(&trial);
  }
  return alone;
}

}  // namespace tritogen
