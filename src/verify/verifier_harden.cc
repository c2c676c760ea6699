// Harden: the negative controls of a setting, and what is done where they pass.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "verify/controls.h"
#include "verify/verifier_task.h"

namespace tritogen {
namespace {

// A control that every trial lets pass, as a reader would name it.
using Passing = std::set<std::pair<size_t, std::string>>;

Passing PassingControls(const Task::Impl& task, const Setting& setting) {
  const std::vector<Trial>& trials = setting.trials;
  Passing passing;
  for (size_t o = 0; o < task.index_sources.size(); ++o) {
    for (const Control control : kControls) {
      bool tried = false, told = false;
      for (size_t t = 0; t < trials.size() && !told; ++t) {
        const OutputCheck& check = trials[t].outputs[o];
        const at::Tensor& other = trials[(t + 1) % trials.size()].outputs[o].expected.exact();
        const auto output = ControlOutput(control, check.expected, trials[t].inputs, other);
        if (!output) continue;
        tried = true;
        told = !check.Compare(task.index_sources[o], *output).ok;
      }
      if (tried && !told) passing.emplace(o, ControlName(control));
    }
    const bool fp32 = trials[0].outputs[o].expected.dtype() == at::kFloat;
    const bool told =
        std::any_of(trials.begin(), trials.end(), [o](const Trial& t) { return t.outputs[o].tells_half; });
    if (fp32 && !told) passing.emplace(o, "the answer in half precision");
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
        fmt::format("the task cannot tell {} from the answer (output {})", name, output));
  }
}

}  // namespace tritogen
