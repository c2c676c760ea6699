#include "verify/verifier_task.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/visit.h"
#include "verify/gpu.h"
#include "verify/verifier_reference.h"

namespace tritogen {
namespace {

// Cheating programs rarely survive the first of these, so wrong candidates cost one run.
constexpr Distribution kOrder[] = {Distribution::kSpread,  Distribution::kGenerated, Distribution::kPlanted,
                                   Distribution::kFlipped, Distribution::kLarge,     Distribution::kShifted,
                                   Distribution::kSpikes,  Distribution::kSwings,    Distribution::kBinary,
                                   Distribution::kNearOne};
constexpr double kStrengths[] = {1.0, 0.25};

// Makes trials one by one from a reference that is set up.
class TrialMaker {
 public:
  TrialMaker(const Task::Impl& task, ReferenceRuns* runs, Replayer* generator)
      : task_(task), runs_(*runs), generator_(*generator) {}

  // Nothing and a reason when the reference breaks.
  std::optional<Trial> Make(Distribution distribution, uint64_t seed, double strength, std::string* reason) {
    TensorList generated, unused;
    if (auto failure = generator_.Generate(seed, &generated, &unused)) {
      *reason = failure->message;
      outcome_ = OutcomeOf(failure->kind);
      return std::nullopt;
    }
    Trial trial{
        distribution, Transform(distribution, generated, SubSeed(seed, 1), strength), SubSeed(seed, 2), {}};
    ReferenceRuns::Results results;
    const bool binary = distribution == Distribution::kBinary;
    if (auto failure = runs_.Run(trial.inputs, trial.run_seed, binary, &results)) {
      *reason = failure->message;
      outcome_ = OutcomeOf(failure->kind);
      return std::nullopt;
    }
    if (distribution != Distribution::kGenerated && BreaksDown(results)) {
      *reason = "the reference gives NaN or Inf there";
      return std::nullopt;
    }
    Fill(results, &trial);
    if (distribution == Distribution::kGenerated && base_finite_.empty()) Remember(results);
    return trial;
  }

  Outcome outcome() const { return outcome_; }

 private:
  void Remember(const ReferenceRuns::Results& results) {
    for (size_t i = 0; i < task_.index_sources.size(); ++i)
      base_finite_.push_back(results.eager[i].isfinite());
  }

  // Some element is NaN or Inf where it is not for generated inputs, in the declared precision or in fp64.
  bool BreaksDown(const ReferenceRuns::Results& results) const {
    for (size_t i = 0; i < base_finite_.size(); ++i) {
      const at::Tensor bad =
          results.eager[i].isfinite().logical_and(results.exact[i].isfinite()).logical_not();
      if (bad.logical_and(base_finite_[i]).any().item<bool>()) return true;
    }
    return false;
  }

  static std::vector<at::Tensor> Column(const std::vector<TensorList>& lists, size_t i) {
    std::vector<at::Tensor> column;
    for (const TensorList& list : lists) column.push_back(list[i]);
    return column;
  }

  void Fill(const ReferenceRuns::Results& results, Trial* trial) const {
    const size_t count = task_.index_sources.size();
    size_t extra = count;
    for (size_t i = 0; i < count; ++i) {
      OutputCheck check{Expectation(results.exact[i], results.eager[i], Column(results.wobbles, i)),
                        std::nullopt};
    setting->hurried = deadline.hurried();
      if (task_.index_sources[i]) {
        check.indexed.emplace(results.exact[extra], results.eager[extra], Column(results.wobbles, extra));
        ++extra;
      }
      if (!results.tf32.empty()) {
        const Comparison tf32 = check.Compare(task_.index_sources[i], results.tf32[i]);
        check.tf32_rms = tf32.rms;
        check.tells_half = !tf32.ok;
      }
      trial->outputs.push_back(std::move(check));
    }
  }

  const Task::Impl& task_;
  ReferenceRuns& runs_;
  Replayer& generator_;
  std::vector<at::Tensor> base_finite_;  // by output, for the first trial as generated
  Outcome outcome_ = Outcome::kInfraError;
};

int64_t BytesOf(const Trial& trial) {
  int64_t bytes = 0;
  for (const at::Tensor& input : trial.inputs) bytes += static_cast<int64_t>(input.nbytes());
  for (const OutputCheck& output : trial.outputs) {
    bytes += static_cast<int64_t>(output.expected.exact().nbytes());
    if (output.indexed) bytes += static_cast<int64_t>(output.indexed->exact().nbytes());
  }
  return bytes;
}

std::optional<Trial> MakeAtSomeStrength(TrialMaker* maker, Distribution distribution, uint64_t seed,
                                        std::string* reason) {
  for (const double strength : kStrengths) {
    if (auto trial = maker->Make(distribution, seed, strength, reason)) return trial;
    if (distribution == Distribution::kGenerated) break;
  }
  return std::nullopt;
}

// The same call twice must agree within the budget, or no candidate can.
std::optional<TaskFailure> CheckDeterminism(const Task::Impl& task, ReferenceRuns* runs, const Trial& trial) {
  TensorList again;
  if (runs->RunEager(trial.inputs, trial.run_seed, &again)) return std::nullopt;
  for (size_t i = 0; i < trial.outputs.size(); ++i) {
    if (!trial.outputs[i].Compare(task.index_sources[i], again[i]).ok) {
      return TaskFailure{Outcome::kNondeterministic,
                         fmt::format("the reference gives two answers to the same call (output {})", i)};
    }
  }
  return std::nullopt;
}

// Integers stay as the generator makes them; those that never differ are the only ones that are tried.
void NoteFixedInputs(const Task::Impl& task, const Trial& one, const Trial& other,
                     std::vector<std::string>* notes) {
  const std::vector<TensorId> leaves = TensorLeaves(task.plan.inputs);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const at::ScalarType type = one.inputs[i].scalar_type();
    if (!at::isIntegralType(type, /*includeBool=*/false) || !one.inputs[i].equal(other.inputs[i])) continue;
    if (!task.flow.Reaches(task.plan, leaves[i])) continue;
    notes->push_back(fmt::format("input {} is the same in every trial, as get_inputs makes it", i));
  }
}

}  // namespace

Comparison OutputCheck::Compare(const std::optional<IndexSource>& source, const at::Tensor& got) const {
  Comparison result = expected.Compare(got);
  if (result.ok || !source || !indexed) return result;
  const double share = result.allclose;
  result = CompareIndices(*source, *indexed, expected, got);
  result.allclose = share;
  return result;
}

TensorList CloneAll(const TensorList& tensors) {
  TensorList copies;
  for (const at::Tensor& tensor : tensors) {
    copies.push_back(tensor.device().is_cpu() ? tensor.clone() : Gpu::Current()->guards().Copy(tensor));
  }
  return copies;
}

std::optional<ReplayFailure> SetUp(const Task::Impl& task, const Plan& plan, const Bindings& bindings,
                                   Replayer* replayer) {
  const bool warms_up = !TensorLeaves(plan.warmup_inputs).empty();
  return replayer->Setup(task.weight_seed, CloneAll(task.init_inputs),
                         warms_up ? CloneAll(task.warmup) : TensorList{}, bindings);
}

Outcome OutcomeOf(ReplayFailure::Kind kind) {
  switch (kind) {
    case ReplayFailure::Kind::kCompileError:
      return Outcome::kCompileError;
    case ReplayFailure::Kind::kRuntimeError:
      return Outcome::kRuntimeError;
    case ReplayFailure::Kind::kMemoryError:
      return Outcome::kMemoryError;
    case ReplayFailure::Kind::kTimeout:
      return Outcome::kTimeout;
    case ReplayFailure::Kind::kInfraError:
      return Outcome::kInfraError;
  }
  return Outcome::kInfraError;
}

ReplayOptions OptionsFor(const VerifyOptions& options, const Deadline& deadline) {
  ReplayOptions replay;
  replay.on_gpu = options.on_gpu;
  replay.threads = options.threads;
  replay.deadline_seconds = std::max(0.05, deadline.left());
  replay.memory_bytes = options.memory_bytes;
  replay.order_seed = SubSeed(options.seed, 1);
  return replay;
}

std::variant<Setting, TaskFailure> MakeSetting(const Task::Impl& task, Bindings bindings,
                                               const Deadline& deadline) {
  ReferenceRuns runs(task, deadline);
  Replayer generator(task.plan, OptionsFor(task.options, deadline));
  if (auto failure = runs.Setup(bindings)) return TaskFailure{OutcomeOf(failure->kind), failure->message};
  TrialMaker maker(task, &runs, &generator);
  Setting setting;
  setting.bindings = std::move(bindings);
  std::string reason;
  // The two as generated come first: what NaN and Inf mean is measured against them, and no task goes without
  // them. Nor without `spread`, which tells most shortcuts: [0, 1) inputs alone let ReLU pass for the
  // identity.
  std::optional<Trial> pair[2];
  for (uint64_t i = 0; i < 2; ++i) {
    pair[i] = maker.Make(Distribution::kGenerated, SubSeed(task.options.seed, 100 + i), 1, &reason);
    if (!pair[i]) return TaskFailure{maker.outcome(), reason};
    if (deadline.left() <= 0)
      return TaskFailure{Outcome::kTimeout,
                         "the reference takes too long on this machine: use smaller shapes"};
  }
  if (auto failure = CheckDeterminism(task, &runs, *pair[0])) return *failure;
  NoteFixedInputs(task, *pair[0], *pair[1], &setting.notes);
  const int64_t most_bytes = task.options.memory_bytes / 4;
  int64_t bytes = BytesOf(*pair[0]) + BytesOf(*pair[1]);
  uint64_t stream = 200;
  for (const Distribution distribution : kOrder) {
    if (distribution == Distribution::kGenerated) {
      setting.trials.push_back(std::move(*pair[0]));
      continue;
    }
    if (task.options.confirm && distribution != Distribution::kSpread) continue;
    const bool short_of_time = deadline.PastShare(0.4), short_of_memory = bytes > most_bytes;
    if (distribution != Distribution::kSpread && (short_of_time || short_of_memory)) {
      setting.notes.push_back(fmt::format("no '{}' trial: {} ran short", DistributionName(distribution),
                                          short_of_memory ? "memory" : "time"));
      continue;
    }
    ++stream;
    // `planted` is the neighbour of the first trial: the same inputs but for a few elements.
    const uint64_t number = distribution == Distribution::kPlanted ? 100 : stream;
    auto trial = MakeAtSomeStrength(&maker, distribution, SubSeed(task.options.seed, number), &reason);
    if (!trial) {
      setting.notes.push_back(fmt::format("no '{}' trial: {}", DistributionName(distribution), reason));
      continue;
    }
    bytes += BytesOf(*trial);
    setting.trials.push_back(std::move(*trial));
  }
  setting.trials.push_back(std::move(*pair[1]));
  return setting;
}

int AddTrials(const Task::Impl& task, const std::vector<Distribution>& distributions, uint64_t seed,
              const Deadline& deadline, Setting* setting) {
  ReferenceRuns runs(task, deadline);
  Replayer generator(task.plan, OptionsFor(task.options, deadline));
  if (runs.Setup(setting->bindings)) return 0;
  TrialMaker maker(task, &runs, &generator);
  int added = 0;
  std::string reason;
  maker.Make(Distribution::kGenerated, SubSeed(seed, 0), 1, &reason);  // what is finite
  for (const Distribution distribution : distributions) {
    auto trial = MakeAtSomeStrength(&maker, distribution, SubSeed(seed, ++added), &reason);
    if (trial) setting->trials.insert(setting->trials.begin(), std::move(*trial));
    if (!trial) --added;
  }
  return added;
}

const Setting* Task::Impl::BySeed() const {
  if (bound.bindings.empty()) return &bound;
  std::call_once(by_seed_once_, [this] {
    Bindings non_neutral;
    for (const std::string& name : replaced) non_neutral[name] = bound.bindings.at(name);
    const Deadline deadline(options.budget_seconds);
    auto made = MakeSetting(*this, std::move(non_neutral), deadline);
    auto* setting = std::get_if<Setting>(&made);
    if (setting == nullptr) return;
    Harden(*this, deadline, setting);
    by_seed_ = std::move(*setting);
  });
  return by_seed_ ? &*by_seed_ : nullptr;
}

const Plan& Task::plan() const {
  return impl_->plan;
}

}  // namespace tritogen
