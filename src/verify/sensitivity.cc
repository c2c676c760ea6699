#include "verify/sensitivity.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "plan/visit.h"
#include "verify/random.h"
#include "verify/verifier_reference.h"

namespace tritogen {
namespace {

constexpr size_t kTrialsPerLeaf = 2;

class Prober {
 public:
  Prober(const Task::Impl& task, const Deadline& deadline) : task_(task), deadline_(deadline) {}

  bool SeesInput(size_t leaf) {
    if (!base_) base_ = SetUp(task_.bound.bindings);
    return base_ && Visible(*base_, [&](TensorList* inputs, uint64_t seed) {
             auto redrawn = Redraw((*inputs)[leaf], seed);
             if (redrawn) (*inputs)[leaf] = *redrawn;
             return redrawn.has_value();
           });
  }

  bool SeesState(const std::string& name) {
    Bindings bindings = task_.bound.bindings;
    auto redrawn = Redraw(bindings.at(name), SubSeed(task_.weight_seed, std::hash<std::string>()(name)));
    if (!redrawn) return false;
    bindings[name] = *redrawn;
    const auto runs = SetUp(bindings);
    return runs && Visible(*runs, [](TensorList*, uint64_t) { return true; });
  }

 private:
  std::unique_ptr<Replayer> SetUp(const Bindings& bindings) {
    ReplayOptions options = OptionsFor(task_.options, deadline_);
    options.in_float64 = true;
    auto replayer = std::make_unique<Replayer>(task_.plan, options);
    if (tritogen::SetUp(task_, task_.plan, bindings, replayer.get())) return nullptr;
    return replayer;
  }

  template <typename F>
  bool Visible(Replayer& replayer, const F& change) {
    for (size_t t = 0; t < std::min(kTrialsPerLeaf, task_.bound.trials.size()); ++t) {
      const Trial& trial = task_.bound.trials[t];
      TensorList inputs = CloneAll(trial.inputs), outputs;
      if (!change(&inputs, SubSeed(trial.run_seed, 7))) continue;
      if (replayer.Run(inputs, trial.run_seed, &outputs))
        return true;  // it matters enough to break the program
      for (size_t i = 0; i < trial.outputs.size(); ++i) {
        if (!trial.outputs[i].Compare(task_.index_sources[i], outputs[i]).ok) return true;
      }
    }
    return false;
  }

  const Task::Impl& task_;
  const Deadline& deadline_;
  std::unique_ptr<Replayer> base_;
};

Objection Ignored(const std::string& what) {
  return {Outcome::kWrongValues,
          fmt::format("{} cannot reach any output, but the reference's outputs depend on it", what),
          "",
          {{"insensitive", what}}};
}

}  // namespace

void FindSensitive(const Deadline& deadline, Task::Impl* task) {
  Prober prober(*task, deadline);
  std::vector<std::string> unseen;
  size_t unmeasured = 0;
  const std::vector<TensorId> inputs = TensorLeaves(task->plan.inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!task->flow.Reaches(task->plan, inputs[i])) continue;
    if (deadline.PastShare(0.7)) {
      ++unmeasured;
    } else if (prober.SeesInput(i)) {
      task->sensitive_inputs.push_back(static_cast<int>(i));
    } else {
      unseen.push_back(fmt::format("input {}", i));
    }
  }
  for (const StateEntry& entry : task->plan.state) {
    if (!task->flow.Reaches(task->plan, entry.tensor) || !task->bound.bindings.contains(entry.name)) continue;
    if (deadline.PastShare(0.7)) {
      ++unmeasured;
    } else if (prober.SeesState(entry.name)) {
      task->sensitive_state.push_back(entry.name);
    } else if (entry.is_parameter) {
      unseen.push_back(fmt::format("'{}'", entry.name));
    }
  }
  for (const std::string& what : unseen) {
    task->bound.notes.push_back(
        fmt::format("no output depends visibly on {}: ignoring it is no error", what));
  }
  if (unmeasured > 0) {
    task->bound.notes.push_back(
        fmt::format("time ran short: sensitivity to {} inputs and parameters not measured", unmeasured));
  }
}

std::optional<Objection> CheckReach(const Task::Impl& task, const Plan& candidate, const Flow& flow) {
  const std::vector<TensorId> inputs = TensorLeaves(candidate.inputs);
  for (const int leaf : task.sensitive_inputs) {
    if (!flow.Reaches(candidate, inputs[leaf])) return Ignored(fmt::format("input {}", leaf));
  }
  for (const std::string& name : task.sensitive_state) {
    const auto entry = std::find_if(candidate.state.begin(), candidate.state.end(),
                                    [&](const StateEntry& e) { return e.name == name; });
    if (entry != candidate.state.end() && !flow.Reaches(candidate, entry->tensor)) {
      return Ignored(fmt::format("parameter '{}'", name));
    }
  }
  return std::nullopt;
}

std::optional<at::Tensor> NonNeutral(const StateEntry& entry, const at::Tensor& value, uint64_t seed) {
  if (!at::isFloatingType(value.scalar_type()) || value.numel() == 0) return std::nullopt;
  const Random random(seed, value.device());
  at::Tensor changed;
  if (entry.name.ends_with("running_var")) {
    changed = random.Uniform(value.sizes(), 0.5, 2);
  } else if (entry.name.ends_with("running_mean")) {
    changed = random.Uniform(value.sizes(), -0.5, 0.5);
  } else if (entry.is_parameter && value.eq(value.flatten()[0]).all().item<bool>()) {
    const double constant = value.flatten()[0].to(at::kDouble).item<double>();
    changed = constant == 0 ? random.Uniform(value.sizes(), -0.5, 0.5)
                            : constant * random.Uniform(value.sizes(), 0.5, 1.5);
  } else {
    return std::nullopt;
  }
  return at::empty_like(value).copy_(changed);
}

}  // namespace tritogen
