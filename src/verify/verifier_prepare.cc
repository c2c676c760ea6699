// Makes a Task: weights, trials, controls, sensitivity.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/available_memory.h"
#include "base/stages.h"
#include "base/thread_team.h"
#include "device/device_errors.h"
#include "device/gpu.h"
#include "device/random.h"
#include "plan/lifetimes.h"
#include "plan/visit.h"
#include "verify/asked_choices.h"
#include "verify/inner_noise.h"
#include "verify/inputs_alike.h"
#include "verify/local_flow.h"
#include "verify/sensitivity.h"
#include "verify/verifier_calls.h"
#include "verify/verifier_task.h"
#include "verify/verifier_trial_loan.h"
#include "verify/verifier_waivers.h"
#include "verify/work_ops.h"

namespace tritogen {
namespace {

// Memory for trials, five precisions of the reference and what is in between, in peaks of one call.
constexpr int64_t kComfortablePeaks = 10;
constexpr int64_t kSmallTask = int64_t{4} << 20;

// From those that tell most to those that every reference bears.
struct Weights {
  Bindings trained, non_neutral, neutral;
  std::vector<std::string> replaced;  // in non_neutral
  bool changed = false;               // trained is another than non_neutral
};

// A running variance, by the seed; nothing where there is none. Some of its numbers alone become tiny: layer
// upon layer, what such channels make larger would grow without end.
const StateEntry* DrawnVariance(const Task::Impl& task) {
  std::vector<const StateEntry*> variances;
  for (const StateEntry& entry : task.plan.state)
    if (IsRunningVariance(entry)) variances.push_back(&entry);
  return variances.empty() ? nullptr : variances[SubSeed(task.weight_seed, 1004) % variances.size()];
}

// A row of padding, a layer that begins as nothing: made random, there is none left.
bool HasRowsOfZeros(const Bindings& bindings) {
  TensorList any;
  for (const auto& [name, value] : bindings) {
    if (value.dim() < 2 || value.numel() == 0 || value.is_complex()) continue;
    any.push_back(value.reshape({value.size(0), -1}).eq(0).all(1).any());
  }
  return !any.empty() && at::stack(any).any().item<bool>();
}

std::variant<Weights, TaskFailure> DrawWeights(const Task::Impl& task, const Deadline& deadline) {
  if (task.plan.state.empty()) return Weights{};
  Replayer replayer(task.plan, ReferenceOptionsFor(task.options, deadline));
  if (auto failure = SetUp(task, task.plan, {}, &replayer)) {
    return TaskFailure{OutcomeOf(failure->kind), "set-up of the reference: " + failure->message};
  }
  Weights weights;
  const auto state = replayer.State();
  const StateEntry* drawn = DrawnVariance(task);
  uint64_t stream = 0;
  for (const StateEntry& entry : task.plan.state) {
    const auto found = state.find(entry.name);
    if (found == state.end()) continue;
    weights.neutral[entry.name] = weights.non_neutral[entry.name] = found->second.clone();
    if (auto changed =
            NonNeutral(entry, found->second, SubSeed(task.weight_seed, ++stream), &entry == drawn)) {
      weights.non_neutral[entry.name] = *changed;
      weights.replaced.push_back(entry.name);
    }
    if (task.spares_memory) continue;
    // Entries that share memory stay equal.
    const uint64_t place = task.plan.tensors[entry.tensor].storage;
    const at::Tensor& value = weights.non_neutral[entry.name];
    auto trained = AsIfTrained(entry, found->second, value, AskedOfWeight(task.plan, entry),
                               task.needs_full_rank, SubSeed(SubSeed(task.weight_seed, 3), place));
    weights.trained[entry.name] = trained ? *trained : value;
    weights.changed |= trained.has_value();
  }
  return weights;
}

// How badly the reference bears its weights: elements that are NaN or Inf in the trial as generated, the most
// there are where there is none; and whether rounding decides so much of its answers that they tell little.
struct Harm {
  int64_t broken = std::numeric_limits<int64_t>::max();
  bool rough = true;
};

Harm HarmIn(const Task::Impl& task, const std::variant<Setting, TaskFailure>& made) {
  constexpr double kRough = 1e-3;  // of the scale; usual in float32 are 1e-5
  const auto* setting = std::get_if<Setting>(&made);
  if (setting == nullptr) return {};
  TrialLoan loan(setting->trials.back());
  Harm harm{.broken = 0, .rough = false};
  for (const OutputCheck& output : loan.Expected().outputs) {
    const Expectation& expected = output.expected;
    harm.broken += expected.exact().isfinite().logical_not().sum().item<int64_t>();
    const bool coarse = task.narrow || task.cuts_factors || expected.dtype() != at::kFloat;
    harm.rough |= !coarse && expected.rms_budget() > kRough * expected.scale();
  }
  return harm;
}

// The setting with weights bound by name: of those that the reference cannot bear the next.
std::optional<TaskFailure> BindWeights(const Deadline& deadline, Task::Impl* task) {
  auto drawn = DrawWeights(*task, deadline);
  if (auto* failure = std::get_if<TaskFailure>(&drawn)) return *failure;
  Weights& weights = std::get<Weights>(drawn);
  struct Choice {
    const Bindings* bindings;
    const char* note;  // where these are taken
  };
  std::vector<Choice> choices;
  if (weights.changed) choices.push_back({&weights.trained, ""});
  choices.push_back({&weights.non_neutral, choices.empty() ? ""
                                                           : "parameters are as the constructor makes "
                                                             "them: others break the reference"});
  if (!weights.replaced.empty())
    choices.push_back({&weights.neutral,
                       "affine parameters and running statistics stay neutral: others break the reference"});
  std::optional<std::variant<Setting, TaskFailure>> best;
  Harm least;
  for (const Choice& choice : choices) {
    auto made =
        MakeSetting(*task, *choice.bindings, deadline, task->unfinished ? Extent::kFirst : Extent::kAll);
    const Harm harm = HarmIn(*task, made);
    const bool less = harm.broken < least.broken || (harm.broken == least.broken && least.rough);
    if (best && !less) continue;
    least = harm;
    best = std::move(made);
    if (auto* setting = std::get_if<Setting>(&*best); setting != nullptr && *choice.note != 0)
      setting->notes.push_back(choice.note);
    if (choice.bindings == &weights.neutral) weights.replaced.clear();
    if (harm.broken == 0 && !harm.rough) break;
  }
  if (auto* failure = std::get_if<TaskFailure>(&*best)) return *failure;
  task->replaced = std::move(weights.replaced);
  for (const std::string& name : task->replaced) task->neutral[name] = weights.neutral.at(name);
  if (!task->spares_memory && HasRowsOfZeros(weights.neutral)) task->constructed = std::move(weights.neutral);
  task->bound = std::get<Setting>(std::move(*best));
  return std::nullopt;
}

// What the reference writes into its inputs is a part of its answer.
void ExtendOutputs(Task::Impl* task) {
  const std::set<StorageId> written = WrittenStorages(task->plan);
  for (TensorId id : TensorLeaves(task->plan.inputs))
    task->mutates_input.push_back(written.contains(task->plan.tensors[id].storage));
  task->returned = TensorLeaves(task->plan.outputs).size();
  task->plan = WithWrittenInputs(task->plan, task->mutates_input);
}

// Floats are cast to integers, which means nothing beyond what these hold.
bool CastsToIntegers(const Plan& plan, const AtenStep& step) {
  const TensorId from = TensorArgument(step, "self"), to = FirstResult(step);
  return WithoutOverload(step.op) == "aten::_to_copy" && from != kNoTensor && to != kNoTensor &&
         IsFloating(plan.tensors[from].dtype) && IsInteger(plan.tensors[to].dtype);
}

// Static facts of the reference.
void Inspect(Task::Impl* task) {
  const Plan& plan = task->plan;
  task->flow = FlowOf(plan);
  task->work = AtenWork(plan, task->flow);
  task->moves = MovingWork(plan, task->flow);
  for (TensorId id : TensorLeaves(plan.outputs)) {
    task->index_sources.push_back(IndexSourceOf(plan, id));
    task->edges.push_back(EdgesBefore(plan, id));
    task->within.push_back(JumpsWithin(plan, id));
  }
  task->narrow = std::any_of(plan.tensors.begin(), plan.tensors.end(), [](const TensorMeta& tensor) {
    return IsFloating(tensor.dtype) && DtypeSize(tensor.dtype) < 4;
  });
  std::set<StorageId> searched, probabilities, compared;
  bool carries = false;
  for (const Step& step : plan.run) {
    const auto* aten = std::get_if<AtenStep>(&step);
    if (const auto lines = aten == nullptr ? std::nullopt : SearchedIn(*aten))
      searched.insert(plan.tensors[*lines].storage);
    for (const TensorId taken : aten == nullptr ? std::vector<TensorId>() : ProbabilitiesOf(*aten))
      probabilities.insert(plan.tensors[taken].storage);
    if (aten != nullptr && IsComparison(*aten)) compared.merge(StoragesRead(plan, *aten));
    task->draws_random |= aten != nullptr && DrawsRandom(*aten);
    task->orders_freely |= aten != nullptr && OrdersFreely(*aten);
    task->lets_few_count |= aten != nullptr && LetsFewCount(*aten);
    carries |= aten != nullptr && (CarriesBySigns(*aten) || CastsToIntegers(plan, *aten));
    task->needs_full_rank |= aten != nullptr && FactorsMatrix(*aten);
    task->has_epsilon |= aten != nullptr && (HasEpsilon(*aten) || AsksOfAll(*aten));
    task->last_write_stays |= aten != nullptr && LastWriteStays(*aten);
  }
  for (const StateEntry& entry : plan.state) {
    if (!entry.is_parameter && compared.contains(plan.tensors[entry.tensor].storage))
      task->compared_state.push_back(entry.name);
  }
  task->has_epsilon |= !task->narrow && DividesByComputed(plan);  // half types round what is small away
  task->has_alike = HasAlike(plan);
  task->asked = AskedValuesOf(plan);
  task->missing = TakeMissing(&task->asked);
  task->minus_inf = MinusInfOf(task->asked);
  const std::vector<Probe> inner = InnerProbes(plan, !task->spares_memory);
  task->moves_inside = !std::ranges::all_of(inner, MovesExponential);
  task->passes_one = std::ranges::any_of(inner, MovesNearOne);
  task->cuts_factors = HasFloat32Factors(plan, task->options.fp32_precision);
  task->opposed = OpposedFactorsOf(plan);
  if (task->opposed.apart && (task->narrow || task->cuts_factors)) task->opposed = {};
  const bool decides = std::ranges::any_of(task->within, [](const auto& edges) { return !edges.empty(); });
  const bool whole = !task->narrow || HasFloat32Factors(plan, Fp32Precision::kTf32);
  task->grows = whole && !task->lets_few_count && !carries && !decides;
  task->takes_extrema = TakesExtrema(plan) && !MultipliesFloat32(plan);
  for (const Asked& of_leaf : task->asked) {
    task->flags.push_back(of_leaf.integers.flags);
    task->sinks |= of_leaf.integers.sinks;
  }
  task->keys = KeysOf(plan);
  for (TensorId id : TensorLeaves(plan.inputs)) {
    task->searched.push_back(searched.contains(plan.tensors[id].storage));
    task->probabilities.push_back(probabilities.contains(plan.tensors[id].storage));
    task->places.push_back(IsFloating(plan.tensors[id].dtype) && ChoosesUnbounded(plan, id));
  }
}

std::optional<TaskFailure> Generate(const Deadline& deadline, Task::Impl* task) {
  if (TensorLeaves(task->plan.warmup_inputs).empty() && TensorLeaves(task->plan.init_inputs).empty())
    return std::nullopt;
  TensorList warmup;
  if (auto failure = GenerateWarmup(*task, deadline, &warmup, &task->init_inputs))
    return TaskFailure{OutcomeOf(failure->kind), "get_inputs of the reference: " + failure->message};
  task->init_inputs = CloneAll(task->init_inputs);
  if (!task->spares_memory) task->warmup = CloneAll(warmup);
  return std::nullopt;
}

// How much the trials tell.
void MeasureTrials(const Deadline& deadline, Task::Impl* task) {
  const Stage stage("prepare: controls");
  Harden(*task, deadline, &task->bound);
  FindSensitive(deadline, task);
}

int64_t StorageBytes(const Plan& plan, const std::vector<TensorId>& tensors) {
  int64_t bytes = 0;
  for (TensorId id : tensors) bytes += plan.storages[plan.tensors[id].storage];
  return bytes;
}

// Inputs, a run in fp64, outputs in two precisions.
int64_t TrialBytes(const Plan& plan) {
  return StorageBytes(plan, TensorLeaves(plan.inputs)) + 2 * StorageBytes(plan, TensorLeaves(plan.outputs)) +
         2 * PeakBytes(plan, Phase::kRun);
}

// Whether two trials fit into the memory beside a third one that is made and judged, and beside the copies of
// the program that are timed.
bool FitsTwoTrials(const Plan& plan, int64_t memory_bytes) {
  const int64_t inputs = StorageBytes(plan, TensorLeaves(plan.inputs));
  const int64_t outputs = StorageBytes(plan, TensorLeaves(plan.outputs));
  int64_t expected = 0;
  for (TensorId id : TensorLeaves(plan.outputs)) expected += plan.tensors[id].numel() * 8;
  const int64_t timing = inputs + 4 * PeakBytes(plan, Phase::kRun);
  return 2 * (inputs + expected) + outputs + std::max(TrialBytes(plan), timing) <= memory_bytes;
}

}  // namespace

bool Task::Complete() const {
  if (impl_->spoiled) return false;
  if (!impl_->unfinished) return true;
  const Stage stage("prepare: other trials");
  const Deadline deadline(impl_->options.budget_seconds);
  impl_->spoiled = true;  // until all of it is there, should something throw
  if (!MakeOtherTrials(*impl_, deadline, &impl_->bound)) return false;
  MeasureTrials(deadline, impl_.get());
  impl_->bound.hurried |= deadline.hurried();
  impl_->unfinished = impl_->spoiled = false;
  return true;
}

VerifyOptions Resolved(VerifyOptions options, const Plan& plan) {
  const int64_t available = options.on_gpu ? Gpu::Current()->info().memory_bytes : AvailableMemory();
  if (options.memory_bytes <= 0) options.memory_bytes = available / 4 * 3;
  if (options.threads <= 0) {  // threads cost more than they give where all data fits into a cache
    options.threads = PeakBytes(plan) < kSmallTask ? 1 : MachineThreads();
  }
  return options;
}

std::variant<Task, TaskFailure> PrepareTask(Plan reference, const VerifyOptions& options) {
  auto task = std::make_shared<Task::Impl>();
  task->plan = std::move(reference);
  ExtendOutputs(task.get());
  task->options = Resolved(options, task->plan);
  task->weight_seed = SubSeed(options.seed, 2);
  const Deadline deadline(options.budget_seconds);
  const int64_t peak = std::max(PeakBytes(task->plan), 2 * PeakBytes(task->plan, Phase::kRun));  // fp64
  task->spares_memory = options.spare_memory || options.keep_no_trials ||
                        kComfortablePeaks * PeakBytes(task->plan) > task->options.memory_bytes;
  task->keeps_no_trials = options.keep_no_trials ||
                          (options.on_gpu && task->spares_memory &&
                           (options.spare_memory || !FitsTwoTrials(task->plan, task->options.memory_bytes)));
  task->trial_bytes = TrialBytes(task->plan);
  if (peak > task->options.memory_bytes) {
    return TaskFailure{
        Outcome::kInfraError,
        fmt::format("the reference needs {:.1f} GiB in fp64 and may have {:.1f}: use smaller shapes",
                    static_cast<double>(peak) / (1 << 30),
                    static_cast<double>(task->options.memory_bytes) / (1 << 30))};
  }
  if (task->returned == 0) return TaskFailure{Outcome::kRuntimeError, "the reference returns no tensor"};
  try {
    const Stage stage("prepare: trials");
    Inspect(task.get());
    if (auto failure = Generate(deadline, task.get())) return *failure;
    // A large task keeps no more than the first trials, one that was judged before needs no more.
    task->unfinished = options.rest_on_demand && !task->spares_memory && !options.confirm;
    if (auto failure = BindWeights(deadline, task.get())) return *failure;
    if (task->spares_memory) {
      task->bound.notes.push_back(
          "memory is short for a task this large: few trials, sensitivity and negative controls not "
          "measured");
    } else if (!options.confirm && !task->unfinished) {
      MeasureTrials(deadline, task.get());
    }
    // Memory, too, may be more another time: a CPU's is what is free just then.
    const bool short_of_memory = task->spares_memory && !options.spare_memory && !options.on_gpu;
    task->bound.hurried |= deadline.hurried() || short_of_memory;
  } catch (const std::exception& error) {  // libtorch's, or a bug of ours: either way no Task
    return TaskFailure{Outcome::kInfraError, fmt::format("preparing the task failed: {}", MessageOf(error))};
  }
  return Task(std::move(task));
}

}  // namespace tritogen
