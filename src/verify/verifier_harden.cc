// Harden: the negative controls of a setting, and what is done where they pass.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "device/random.h"
#include "verify/controls.h"
#include "verify/verifier_task.h"

namespace tritogen {
namespace {

// A control that every trial lets pass, as a reader would name it.
using Passing = std::set<std::pair<size_t, std::string>>;

// One control on one output, until a trial tells it from the answer.
struct Attempt {
  size_t output;
  Control control;
  bool tried = false, told = false;
};

// All attempts that are still open, on one trial; one wait.
void TryOn(const Task::Impl& task, const Setting& setting, size_t t, std::vector<Attempt>* attempts) {
  const Trial& trial = setting.trials[t];
  const Trial& neighbour = setting.trials[(t + 1) % setting.trials.size()];
  std::vector<Attempt*> tried;
  std::vector<PendingComparison> comparisons;
  for (Attempt& attempt : *attempts) {
    if (attempt.told) continue;
    const OutputCheck& check = trial.outputs[attempt.output];
    const at::Tensor& other = neighbour.outputs[attempt.output].expected.exact();
    const auto answer = ControlOutput(attempt.control, check.expected, trial.inputs, other);
    if (!answer) continue;
    tried.push_back(&attempt);
    comparisons.push_back(check.CompareLater(task.index_sources[attempt.output], *answer));
  }
  PendingComparison::GetAll(comparisons);
  for (size_t i = 0; i < tried.size(); ++i) {
    tried[i]->tried = true;
    tried[i]->told = !comparisons[i].Get().ok;
  }
}

Passing PassingControls(const Task::Impl& task, const Setting& setting) {
  std::vector<Attempt> attempts;
  for (size_t o = 0; o < task.index_sources.size(); ++o) {
    for (const Control control : kControls) attempts.push_back({o, control});
  }
  auto told = [](const Attempt& attempt) { return attempt.told; };
  for (size_t t = 0; t < setting.trials.size() && !std::all_of(attempts.begin(), attempts.end(), told); ++t)
    TryOn(task, setting, t, &attempts);
  Passing passing;
  for (const Attempt& attempt : attempts) {
    if (attempt.tried && !attempt.told) passing.emplace(attempt.output, ControlName(attempt.control));
  }
  for (size_t o = 0; o < task.index_sources.size(); ++o) {
    const bool fp32 = setting.trials[0].outputs[o].expected.dtype() == at::kFloat;
    const bool half_told = std::any_of(setting.trials.begin(), setting.trials.end(),
                                       [o](const Trial& t) { return t.outputs[o].tells_half; });
    if (fp32 && !half_told) passing.emplace(o, "the answer in half precision");
  }
  return passing;
}

}  // namespace

void Harden(const Task::Impl& task, const Deadline& deadline, Setting* setting) {
  Passing passing = PassingControls(task, *setting);
  if (passing.empty()) return;
  if (!deadline.PastShare(0.5)) {
    const Passing before = passing;
    const int added = AddTrials(task, {Distribution::kShifted, Distribution::kSpread},
                                SubSeed(task.options.seed, 300), deadline, setting);
    passing = PassingControls(task, *setting);
    if (passing.size() < before.size()) {
      setting->notes.push_back(fmt::format("inputs hardened by {} more trials: {} passed without them", added,
                                           before.begin()->second));
    }
  }
  for (const auto& [output, name] : passing) {
    setting->notes.push_back(
        fmt::format("the task cannot tell {} from the answer ({})", name, task.OutputName(output)));
  }
}

}  // namespace tritogen
