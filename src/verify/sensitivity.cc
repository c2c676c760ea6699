#include "verify/sensitivity.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/sha256.h"
#include "device/aten_dtype.h"
#include "device/random.h"
#include "plan/visit.h"
#include "verify/local_flow.h"
#include "verify/replay_bind.h"
#include "verify/verifier_order.h"
#include "verify/verifier_reference.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

constexpr size_t kTrialsPerLeaf = 2;

class Prober {
 public:
  Prober(const Task::Impl& task, const Deadline& deadline) : task_(task), deadline_(deadline) {}

  enum class Finding { kSeen, kUnseen, kUnmeasured };

  // By leaf. One wait a trial for all of them.
  std::vector<Finding> ProbeInputs(const std::vector<size_t>& leaves) {
    std::vector<Finding> findings(leaves.size(), Finding::kUnseen);
    const auto base = leaves.empty() ? nullptr : SetUp(task_.bound.bindings);
    for (size_t t = 0; base && t < trials(); ++t) {
      std::vector<std::vector<PendingComparison>> pending(leaves.size());
      for (size_t i = 0; i < leaves.size(); ++i) {
        if (findings[i] != Finding::kUnseen) continue;
        if (deadline_.PastShare(0.7)) findings[i] = Finding::kUnmeasured;
        TensorList inputs = task_.bound.trials[t].inputs;
        auto redrawn = Redraw(inputs[leaves[i]], SubSeed(task_.bound.trials[t].run_seed, 7));
        if (findings[i] == Finding::kUnmeasured || !redrawn) continue;
        inputs[leaves[i]] = *redrawn;
        if (!Compare(*base, t, inputs, &pending[i])) findings[i] = Finding::kSeen;
      }
      for (size_t i = 0; i < leaves.size(); ++i) {
        if (Differ(&pending[i])) findings[i] = Finding::kSeen;
      }
    }
    return findings;
  }

  // Whether no output depends on what these hold before a call.
  bool Unseen(const std::vector<TensorId>& state) {
    if (state.empty() || deadline_.PastShare(0.7)) return false;
    const auto replayer = SetUp(task_.bound.bindings, state);
    for (size_t t = 0; replayer && t < trials(); ++t) {
      std::vector<PendingComparison> pending;
      if (!Compare(*replayer, t, task_.bound.trials[t].inputs, &pending) || Differ(&pending)) return false;
    }
    return replayer != nullptr;
  }

  // Of this state, what shows in a call as the one before left it, where no other values did: a maximum over
  // all calls is the call's own as long as none before had larger inputs.
  std::set<std::string> CarriedOver(const std::set<std::string>& names) {
    const std::vector<const Trial*> calls = TrialsInARow(task_, task_.bound);
    std::set<std::string> carried;
    if (names.empty() || calls[0]->remaker != nullptr) return carried;
    const auto replayer = SetUp(task_.bound.bindings);
    TensorList outputs;
    for (size_t i = 1; replayer && i < calls.size() && !deadline_.PastShare(0.7); ++i) {
      if (replayer->Run(CloneAll(calls[i - 1]->inputs), calls[i - 1]->run_seed, &outputs)) break;
      const Bindings left = StateOf(*replayer, names);
      if (!Shows(left, *calls[i])) continue;
      for (const auto& [name, value] : left) {
        if (Shows({{name, value}}, *calls[i])) carried.insert(name);
      }
      if (carried.empty()) return names;  // together
    }
    return carried;
  }

  Finding ProbeState(const std::string& name) {
    if (deadline_.PastShare(0.7)) return Finding::kUnmeasured;
    Bindings bindings = task_.bound.bindings;
    auto redrawn = Redraw(bindings.at(name), SubSeed(task_.weight_seed, Sha256Word(name)));
    if (!redrawn) return Finding::kUnseen;
    bindings[name] = *redrawn;
    const auto replayer = SetUp(bindings);
    for (size_t t = 0; replayer && t < trials(); ++t) {
      std::vector<PendingComparison> pending;
      if (!Compare(*replayer, t, task_.bound.trials[t].inputs, &pending) || Differ(&pending))
        return Finding::kSeen;
    }
    return Finding::kUnseen;
  }

 private:
  size_t trials() const { return std::min(kTrialsPerLeaf, task_.bound.trials.size()); }

  std::unique_ptr<Replayer> SetUp(const Bindings& bindings, std::vector<TensorId> redrawn = {}) {
    ReplayOptions options = ReferenceOptionsFor(task_.options, deadline_);
    options.in_float64 = true;
    options.redrawn = std::move(redrawn);
    auto replayer = std::make_unique<Replayer>(task_.plan, options);
    if (tritogen::SetUp(task_, task_.plan, bindings, replayer.get())) return nullptr;
    return replayer;
  }

  // Copies, in the dtypes of the program.
  Bindings StateOf(const Replayer& replayer, const std::set<std::string>& names) const {
    const std::map<std::string, at::Tensor> state = replayer.State();
    Bindings copies;
    for (const StateEntry& entry : task_.plan.state) {
      if (!names.contains(entry.name)) continue;
      const at::ScalarType dtype = ToScalarType(task_.plan.tensors[entry.tensor].dtype);
      copies[entry.name] = state.at(entry.name).to(dtype, /*non_blocking=*/false, /*copy=*/true);
    }
    return copies;
  }

  bool Shows(const Bindings& state, const Trial& trial) {
    Bindings bindings = task_.bound.bindings;
    for (const auto& [name, value] : state) bindings.insert_or_assign(name, value);
    const auto replayer = SetUp(bindings);
    const auto t = static_cast<size_t>(&trial - task_.bound.trials.data());
    std::vector<PendingComparison> pending;
    return replayer && Compare(*replayer, t, trial.inputs, &pending) && Differ(&pending);
  }

  // False when the change breaks the program: it matters.
  bool Compare(Replayer& replayer, size_t t, const TensorList& inputs,
               std::vector<PendingComparison>* pending) const {
    const Trial& trial = task_.bound.trials[t];
    TensorList outputs;
    if (replayer.Run(CloneAll(inputs), trial.run_seed, &outputs)) return false;
    for (size_t i = 0; i < trial.outputs.size(); ++i)
      pending->push_back(trial.outputs[i].CompareLater(task_.index_sources[i], outputs[i]));
    return true;
  }

  static bool Differ(std::vector<PendingComparison>* pending) {
    PendingComparison::GetAll(*pending);
    return std::any_of(pending->begin(), pending->end(), [](PendingComparison& p) { return !p.Get().ok; });
  }

  const Task::Impl& task_;
  const Deadline& deadline_;
};

Objection Ignored(const std::string& what) {
  return {Outcome::kWrongValues,
          fmt::format("{} cannot reach any output, but the reference's outputs depend on it", what),
          "",
          {{"insensitive", what}}};
}

// All at once where that will do, as with running statistics in training.
void FindUnseenState(Prober* prober, Task::Impl* task) {
  const std::set<StorageId> updated = WrittenStorages(task->plan);
  std::vector<const StateEntry*> entries;
  std::vector<TensorId> tensors;
  for (const StateEntry& entry : task->plan.state) {
    if (!updated.contains(task->plan.tensors[entry.tensor].storage)) continue;
    entries.push_back(&entry);
    tensors.push_back(entry.tensor);
  }
  const bool all = prober->Unseen(tensors);
  for (const StateEntry* entry : entries) {
    if (all || prober->Unseen({entry->tensor})) task->unseen_state.insert(entry->name);
  }
  for (const std::string& name : prober->CarriedOver(task->unseen_state)) task->unseen_state.erase(name);
}

// Of the state on which the reference's outputs depend, what cannot reach any output of the candidate that
// has it.
std::vector<const StateEntry*> IgnoredState(const Task::Impl& task, const Plan& candidate, const Flow& flow) {
  std::vector<const StateEntry*> ignored;
  if (task.sensitive_state.empty()) return ignored;
  const auto sources = FindBindPoints(candidate);
  for (const StateEntry& entry : candidate.state) {
    if (std::ranges::find(task.sensitive_state, entry.name) == task.sensitive_state.end()) continue;
    // What was packed in the constructor comes from where the value first stood, not from the copy on the
    // device that is the parameter now.
    if (!flow.Reaches(candidate, entry.tensor) && !flow.Reaches(candidate, sources.at(entry.name).view))
      ignored.push_back(&entry);
  }
  return ignored;
}

// What rows are multiplied with so that they are of all sizes from a thirtieth of what they were, or of one,
// to thirty times as much: bounds on sizes are not far from the one or the other. Evenly spread, in any
// order: by chance no row at all may lie beyond a bound.
at::Tensor TimesOfRows(const at::Tensor& value, const Random& random) {
  constexpr double kDecades = 1.5;
  const double size = value.flatten(1).norm(2, {1}).median().item<double>();
  const double from_one = std::isfinite(size) && size > 0 ? std::log10(size) : 0;
  const double low = -kDecades - std::max(from_one, 0.0), high = kDecades - std::min(from_one, 0.0);
  const int64_t n = value.size(0);
  const at::Tensor decades =
      n == 1 ? random.Uniform({n}, low, high)
             : at::linspace(low, high, n, random.options()).index_select(0, random.Permutation(n));
  std::vector<int64_t> rows(value.dim(), 1);
  rows[0] = n;
  return at::pow(10.0, decades).view(rows);
}

bool IsConstant(const at::Tensor& value) {
  return value.eq(value.flatten()[0]).all().item<bool>();
}

}  // namespace

void FindSensitive(const Deadline& deadline, Task::Impl* task) {
  Prober prober(*task, deadline);
  std::vector<std::string> unseen;
  size_t unmeasured = 0;
  const std::vector<TensorId> inputs = TensorLeaves(task->plan.inputs);
  std::vector<size_t> leaves;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (task->flow.Reaches(task->plan, inputs[i])) leaves.push_back(i);
  }
  const auto findings = prober.ProbeInputs(leaves);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (findings[i] == Prober::Finding::kSeen) task->sensitive_inputs.push_back(static_cast<int>(leaves[i]));
    if (findings[i] == Prober::Finding::kUnseen) unseen.push_back(fmt::format("input {}", leaves[i]));
    unmeasured += findings[i] == Prober::Finding::kUnmeasured;
  }
  for (const StateEntry& entry : task->plan.state) {
    if (!task->flow.Reaches(task->plan, entry.tensor) || !task->bound.bindings.contains(entry.name)) continue;
    const auto finding = prober.ProbeState(entry.name);
    if (finding == Prober::Finding::kSeen) task->sensitive_state.push_back(entry.name);
    if (finding == Prober::Finding::kUnseen && entry.is_parameter)
      unseen.push_back(fmt::format("'{}'", entry.name));
    unmeasured += finding == Prober::Finding::kUnmeasured;
  }
  FindUnseenState(&prober, task);
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
  for (const StateEntry* entry : IgnoredState(task, candidate, flow)) {
    if (entry->is_parameter) return Ignored(fmt::format("parameter '{}'", entry->name));
  }
  return std::nullopt;
}

std::string NoteOfConstants(const Task::Impl& task, const Plan& candidate, const Flow& flow) {
  std::set<std::string> used;
  for (const StateEntry& entry : candidate.state) used.insert(entry.name);
  for (const StateEntry* entry : IgnoredState(task, candidate, flow)) used.erase(entry->name);
  for (const std::string& name : task.sensitive_state) {
    if (used.contains(name)) continue;
    return fmt::format(
        "the values of buffer '{}', on which the reference's outputs depend, are taken for granted", name);
  }
  return "";
}

bool IsRunningVariance(const StateEntry& entry) {
  return entry.name.ends_with("running_var");
}

std::optional<at::Tensor> NonNeutral(const StateEntry& entry, const at::Tensor& value, uint64_t seed,
                                     bool some_tiny) {
  if (!at::isFloatingType(value.scalar_type()) || value.numel() == 0) return std::nullopt;
  const Random random(seed, value.device());
  at::Tensor changed;
  if (IsRunningVariance(entry)) {
    changed = random.Uniform(value.sizes(), 0.5, 2);
    if (some_tiny) {
      const int64_t tiny = (value.numel() + 6) / 8;  // none of one
      changed = at::where(random.Permutation(value.numel()).view(value.sizes()) < tiny,
                          at::pow(10.0, random.Uniform(value.sizes(), -3, -2)), changed);
    }
  } else if (entry.name.ends_with("running_mean")) {
    changed = random.Uniform(value.sizes(), -0.5, 0.5);
  } else if (entry.is_parameter && IsConstant(value)) {
    const double constant = value.flatten()[0].to(at::kDouble).item<double>();
    changed = constant == 0 ? random.Uniform(value.sizes(), -0.5, 0.5)
                            : constant * random.Uniform(value.sizes(), 0.5, 1.5);
  } else {
    return std::nullopt;
  }
  return at::empty_like(value).copy_(changed);
}

WeightAsked AskedOfWeight(const Plan& plan, const StateEntry& entry) {
  constexpr std::string_view kZero[] = {"aten::sign", "aten::sgn"};
  constexpr std::string_view kNegative[] = {"aten::abs", "aten::relu", "aten::leaky_relu", "aten::elu"};
  constexpr std::string_view kSize[] = {"aten::linalg_vector_norm", "aten::norm"};
  constexpr std::string_view kLookUps[] = {"aten::embedding", "aten::index", "aten::index_select"};
  WeightAsked asked;
  Storages same = {plan.tensors[entry.tensor].storage};
  for (const Step& each : plan.run) {
    const auto* step = std::get_if<AtenStep>(&each);
    if (step == nullptr || step->args.empty()) continue;
    const auto* given = std::get_if<TensorRef>(&step->args[0].v);
    if (given == nullptr || !same.contains(plan.tensors[given->id].storage)) continue;
    const std::string_view name = OutOfPlaceName(*step);
    asked.zero |= OneOf(name, kZero);
    asked.negative |= asked.zero || OneOf(name, kNegative);
    asked.size |= OneOf(name, kSize);
    if (OneOf(name, kLookUps)) same.merge(StoragesMade(plan, *step));
  }
  return asked;
}

std::optional<at::Tensor> AsIfTrained(const StateEntry& entry, const at::Tensor& made,
                                      const at::Tensor& value, const WeightAsked& asked, bool mild,
                                      uint64_t seed) {
  if (!entry.is_parameter || !at::isFloatingType(value.scalar_type()) || value.numel() == 0)
    return std::nullopt;
  const Random random(seed, value.device());
  at::Tensor changed = value.to(at::kDouble);
  if (mild) return at::empty_like(value).copy_(changed * random.Uniform(value.sizes(), 0.5, 1.5));
  const auto offset = static_cast<int64_t>(random.Number(0, static_cast<double>(value.numel())));
  changed = changed.flatten().roll(offset).view(value.sizes());
  // Temperatures and slopes go far from where they began.
  const bool single = value.numel() == 1;
  const at::Tensor times =
      single ? at::pow(2, random.Uniform(value.sizes(), -2, 3)) : random.Uniform(value.sizes(), 0.5, 1.5);
  constexpr double kZeros = 1.0 / 16;
  if (asked.size && value.dim() > 1) changed = changed * TimesOfRows(changed, random);
  if (asked.zero) changed = at::where(random.Uniform(value.sizes(), 0, 1) < kZeros, 0, changed);
  // Steps, decays and variances that are drawn as positive numbers may mean nothing else. Gains may.
  const bool positive = !asked.negative && !IsConstant(made) && made.ge(0).all().item<bool>();
  if (positive) return at::empty_like(value).copy_(changed * times);
  return at::empty_like(value).copy_(changed * times * random.BothSigns(value.sizes()));
}

}  // namespace tritogen
