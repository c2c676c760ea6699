#include "verify/verifier_order.h"

#include <algorithm>

namespace tritogen {

const Trial& FirstGenerated(const Setting& setting) {
  return *std::find_if(setting.trials.begin(), setting.trials.end(),
                       [](const Trial& t) { return t.distribution == Distribution::kGenerated; });
}

bool IsWatched(const Trial& trial) {
  return trial.distribution == Distribution::kSpread || trial.distribution == Distribution::kGenerated;
}

std::vector<const Trial*> TrialsInARow(const Task::Impl& task, const Setting& setting) {
  std::vector<const Trial*> row = {&FirstGenerated(setting)};
  if (task.draws_random) return row;
  for (const Trial& trial : setting.trials) {
    const bool last = &trial == &setting.trials.back();
    if (last || trial.distribution == Distribution::kPlanted) row.push_back(&trial);
  }
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
