// Makes the trials of a setting.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <stdexcept>
#include <utility>

#include "device/random.h"
#include "plan/visit.h"
#include "verify/verifier_large.h"
#include "verify/verifier_order.h"
#include "verify/verifier_reference.h"
#include "verify/verifier_second_look.h"
#include "verify/verifier_task.h"
#include "verify/verifier_trial_loan.h"
#include "verify/verifier_trial_maker.h"

namespace tritogen {
namespace {

constexpr const char* kMemoryRanShort = "memory ran short";
constexpr size_t kMostLeaves = 4;  // of which each is tried by itself

// Cheating programs rarely survive the first, so wrong candidates cost one run. Those as generated come
// second and last.
constexpr Distribution kOrder[] = {
    Distribution::kSpread,  Distribution::kPlanted,      Distribution::kFlipped,      Distribution::kLarge,
    Distribution::kShifted, Distribution::kSpikes,       Distribution::kSwings,       Distribution::kBinary,
    Distribution::kNearOne, Distribution::kHuge,         Distribution::kFarBelow,     Distribution::kFarAbove,
    Distribution::kAsked,   Distribution::kMissing,      Distribution::kMinusInf,     Distribution::kTiny,
    Distribution::kOpposed, Distribution::kPlantedApart, Distribution::kNone,         Distribution::kAll,
    Distribution::kUneven,  Distribution::kCrowded,      Distribution::kRepeats,      Distribution::kZeros,
    Distribution::kLevel,   Distribution::kNothing,      Distribution::kNothingBelow, Distribution::kAlike,
    Distribution::kSunk};

// Some element is NaN or Inf where it is not for generated inputs, in the declared precision or in fp64. One
// wait for all trials.
std::vector<bool> WhichBreak(const std::vector<std::optional<Trial>>& trials) {
  std::vector<const Expectation*> expectations;
  for (const auto& trial : trials) {
    if (!trial) continue;
    const auto of_trial = ExpectationsOf(*trial);
    expectations.insert(expectations.end(), of_trial.begin(), of_trial.end());
  }
  Expectation::Fetch(expectations);
  std::vector<bool> breaks;
  for (const auto& trial : trials) {
    breaks.push_back(trial && BreaksDown(*trial));
  }
  return breaks;
}

// Why a wish is not to be granted, given the bytes that the trials so far take; empty: it is.
using Refusal = std::function<std::string(const Wish& wish, int64_t bytes)>;

// What is wished for instead where the reference breaks down: roots and powers know no negative numbers, but
// large ones; and one input that has narrow bounds (sqrt(1 - a)) says nothing about the others.
std::vector<Wish> MilderThan(const Task::Impl& task, const Wish& wish) {
  constexpr Distribution kSigned[] = {
      Distribution::kSpread,  Distribution::kPlanted, Distribution::kPlantedApart, Distribution::kLarge,
      Distribution::kShifted, Distribution::kSpikes,  Distribution::kFarBelow,     Distribution::kFarAbove};
  std::vector<Wish> milder;
  if (wish.only) return milder;
  if (!MayMeanNothing(wish.distribution))
    milder.push_back({wish.distribution, wish.seed, kTamed});  // those have none
  // Far from zero neighbours round to equal numbers, of which any may be picked; less far they do not.
  for (const double strength : {kTamed / 16, kTamed / 256}) {
    if (IsFar(wish.distribution)) milder.push_back({wish.distribution, wish.seed, strength});
  }
  const bool is_signed = std::ranges::find(kSigned, wish.distribution) != std::end(kSigned);
  const bool chooses = Chooses(wish.distribution);  // by one mask, where another one must not be empty
  if (task.spares_memory || !(is_signed || chooses || wish.distribution == Distribution::kZeros))
    return milder;
  for (const double strength : {1.0, kTamed}) {
    if (is_signed) milder.push_back({wish.distribution, wish.seed, strength, true});
  }
  const std::vector<TensorId> leaves = TensorLeaves(task.plan.inputs);
  if (leaves.size() < 2 || leaves.size() > kMostLeaves) return milder;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (chooses || IsFloating(task.plan.tensors[leaves[i]].dtype))
      milder.push_back({.distribution = wish.distribution, .seed = wish.seed, .keep = i});
  }
  return milder;
}

// The first milder trial in which the reference does not break down.
std::optional<Trial> MakeMilder(const Task::Impl& task, TrialMaker* maker, const Wish& wish,
                                std::string* reason) {
  for (const Wish& milder : MilderThan(task, wish)) {
    std::vector<std::optional<Trial>> one(1);
    one[0] = maker->Make(milder, reason);
    // Nothing changes but what is kept; or neighbours are still equal.
    if (!one[0] && (Chooses(milder.distribution) || IsFar(milder.distribution))) continue;
    if (!one[0]) break;
    if (!WhichBreak(one)[0]) return std::move(one[0]);
    *reason = "the reference gives NaN or Inf there";
  }
  return std::nullopt;
}

// One trial for each wish: at full strength, or a milder one where the reference breaks down, or none for the
// reason that stands in `reasons`. Whether one breaks down is asked when all are made, so that a GPU is
// waited for once; what TrialMaker::Expect asks of some kinds is waited for there.
std::vector<std::optional<Trial>> MakeTrials(const Task::Impl& task, TrialMaker* maker,
                                             const std::vector<Wish>& wishes, const Refusal& refusal,
                                             std::vector<std::string>* reasons) {
  std::vector<std::optional<Trial>> trials(wishes.size());
  reasons->assign(wishes.size(), "");
  std::vector<bool> refused(wishes.size(), false);
  int64_t bytes = 0;
  for (size_t i = 0; i < wishes.size(); ++i) {
    (*reasons)[i] = refusal(wishes[i], bytes);
    refused[i] = !(*reasons)[i].empty();
    if (!refused[i]) trials[i] = maker->Make(wishes[i], &(*reasons)[i]);
    if (trials[i]) bytes += BytesOf(*trials[i]);
  }
  const std::vector<bool> breaks = WhichBreak(trials);
  for (size_t i = 0; i < wishes.size(); ++i) {
    if (refused[i] || (trials[i] && !breaks[i])) continue;
    trials[i].reset();
    if (wishes[i].strength > 1) continue;
    trials[i] = MakeMilder(task, maker, wishes[i], &(*reasons)[i]);
  }
  return trials;
}

// The same call twice must agree within the budget, or no candidate can: the second one, by output. Not
// waited for.
std::vector<PendingComparison> CallAgain(const Task::Impl& task, ReferenceRuns* runs, const Trial& trial) {
  TensorList again;
  if (runs->RunEager(trial.inputs, trial.run_seed, &again)) return {};
  return CompareLater(task, trial, again);
}

bool AreAllOk(std::span<PendingComparison> comparisons) {  // waits
  PendingComparison::GetAll(comparisons);
  return std::ranges::all_of(comparisons, [](PendingComparison& one) { return one.Get().ok; });
}

// Atomics of libraries (convolutions') add up in another order each time: what is over by little in one call
// is called once more, with a second look.
std::optional<TaskFailure> CheckDeterminism(const Task::Impl& task, ReferenceRuns* runs, const Trial& trial,
                                            std::span<PendingComparison> again) {
  if (AreAllOk(again)) return std::nullopt;
  TensorList outputs;
  if (runs->RunEager(trial.inputs, trial.run_seed, &outputs)) return std::nullopt;  // as in CallAgain
  const std::vector<Comparison> comparisons = CompareAll(task, trial, outputs);
  for (size_t i = 0; i < comparisons.size(); ++i) {
    if (comparisons[i].ok) continue;
    return TaskFailure{
        Outcome::kNondeterministic,
        fmt::format("the reference gives two answers to the same call ({})", task.OutputName(i))};
  }
  return std::nullopt;
}

// The reference, in its declared precision and in fp64, gives what it gave when the trial was made. A
// candidate that writes far outside of its buffers may have hit weights, inputs or what is expected. Throws
// where that cannot be found out.
bool IsAsBefore(const Task::Impl& task, ReferenceRuns* runs, const Trial& trial) {
  TensorList eager, exact;
  auto failure = runs->RunEager(trial.inputs, trial.run_seed, &eager);
  if (!failure) failure = runs->RunExact(trial.inputs, trial.run_seed, &exact);
  if (failure && failure->kind == ReplayFailure::Kind::kInfraError)
    throw std::runtime_error(failure->message);
  if (failure) return false;
  std::vector<PendingComparison> comparisons = CompareLater(task, trial, exact);
  // A second look runs with the weights that are there now, so fp64 must be as before first.
  if (!AreAllOk(comparisons)) return false;
  return std::ranges::all_of(CompareAll(task, trial, eager), &Comparison::ok);
}

// Integers stay as the generator makes them; those that never differ are the only ones that are tried. Asked
// of the two as generated.
void NoteFixedInputs(const Task::Impl& task, Setting* setting) {
  const std::vector<TensorId> leaves = TensorLeaves(task.plan.inputs);
  const TrialLoan one(FirstGenerated(*setting));
  const TrialLoan other(setting->trials.back());
  for (size_t i = 0; i < leaves.size(); ++i) {
    const at::Tensor &here = one.trial().inputs[i], &there = other.trial().inputs[i];
    if (!at::isIntegralType(here.scalar_type(), /*includeBool=*/false) || !here.equal(there)) continue;
    if (!task.flow.Reaches(task.plan, leaves[i])) continue;
    setting->notes.push_back(fmt::format("input {} is the same in every trial, as get_inputs makes it", i));
  }
}

// On a GPU a task that spares memory has no more than the two as generated, which timing needs: fresh trials
// are `spread` there, and nothing of them is kept.
bool KeepsGeneratedOnly(const Task::Impl& task) {
  return task.keeps_no_trials || (task.spares_memory && task.options.on_gpu);
}

// Leaves of a trial what it takes to make it again.
void Drop(Trial* trial, FreshTrials* remaker) {
  trial->remade_bytes = BytesOf(*trial);
  trial->remaker = remaker;
  trial->inputs.clear();
  trial->outputs.clear();
  trial->second_look.reset();
}

// Zeros in one floating input alone, one after the other, where what is divided by may be one's norm.
void WishForSingleZeros(const Task::Impl& task, uint64_t seed, std::vector<Wish>* wishes) {
  const std::vector<TensorId> leaves = TensorLeaves(task.plan.inputs);
  if (!task.has_epsilon || task.spares_memory || leaves.size() < 2 || leaves.size() > kMostLeaves) return;
  for (size_t i = 0; i < leaves.size(); ++i)
    if (IsFloating(task.plan.tensors[leaves[i]].dtype))
      wishes->push_back({.distribution = Distribution::kZeros, .seed = seed, .only = i});
}

// Beside the two as generated, in order; the first comes first in a setting, the others stand between those
// two.
std::vector<Wish> WishesFor(const Task::Impl& task) {
  std::vector<Wish> wishes;
  if (KeepsGeneratedOnly(task)) return wishes;
  uint64_t stream = 200;
  for (const Distribution distribution : kOrder) {
    if (task.options.confirm && distribution != Distribution::kSpread) continue;
    if (distribution == Distribution::kHuge && !task.cuts_factors && !task.grows) continue;
    if (IsFar(distribution) && !task.takes_extrema) continue;
    if (distribution == Distribution::kOpposed && task.opposed.empty()) continue;
    if (distribution == Distribution::kTiny && !task.has_epsilon) continue;
    // A matrix of nearly equal numbers has hardly more than one rank, and what is left says in which order it
    // was factored.
    const bool is_flat = MayMeanNothing(distribution) || distribution == Distribution::kNearOne;
    if (is_flat && task.needs_full_rank) continue;
    const bool of_divisors = IsNothing(distribution) || distribution == Distribution::kLevel;
    if (of_divisors && !task.has_epsilon) continue;
    if (distribution == Distribution::kAlike && !task.has_alike) continue;
    if (distribution == Distribution::kSunk && !task.sinks) continue;
    if (distribution == Distribution::kAsked && !AsksForAny(task.asked)) continue;
    if (distribution == Distribution::kMissing && !AsksForAny(task.missing)) continue;
    if (distribution == Distribution::kMinusInf && !AsksForAny(task.minus_inf)) continue;
    ++stream;
    // Those with planted elements are neighbours of the first as generated, and of each other: by the same
    // seed the second one knows where elements of the first one are.
    const uint64_t number = IsPlanted(distribution) ? 100 : stream;
    const bool tamed = task.needs_full_rank && distribution == Distribution::kBinary;  // no empty lines
    wishes.push_back({distribution, SubSeed(task.options.seed, number), tamed ? kTamed : 1});
    if (distribution == Distribution::kZeros) WishForSingleZeros(task, wishes.back().seed, &wishes);
  }
  return wishes;
}

// And one more `large` trial where exponentials are given small numbers in the other one.
std::vector<Wish> AllWishes(const Task::Impl& task, const Bindings& bindings, const Deadline& deadline,
                            TrialMaker* maker) {
  std::vector<Wish> wishes = WishesFor(task);
  const auto large = std::ranges::find(wishes, Distribution::kLarge, &Wish::distribution);
  if (large == wishes.end()) return wishes;
  const uint64_t seed = large->seed;
  if (const auto times = TimesUntilOverflow(task, bindings, seed, deadline, maker))
    wishes.push_back({Distribution::kLarge, seed, *times});
  return wishes;
}

// The reference set up under one set of weights, and what makes trials of it.
struct KeptReference final : FreshTrials {
  KeptReference(const Task::Impl& task, const Deadline& deadline)
      : runs(task, deadline),
        generator(task.plan, ReferenceOptionsFor(task.options, deadline)),
        maker(task, &runs, &generator) {}

  std::optional<ReplayFailure> SetUp(const Bindings& bindings) {
    maker.SetBindings(bindings);
    return runs.SetUp(bindings);
  }

  std::optional<Trial> Inputs(Distribution distribution, uint64_t seed, double strength,
                              std::string* reason) override {
    return maker.MakeInputs({distribution, seed, strength}, reason);
  }

  bool Expect(Trial* trial, std::string* reason) override {
    if (maker.Expect(trial, reason)) return true;
    // That the reference did not run for want of memory says nothing about the inputs.
    if (maker.outcome() == Outcome::kInfraError) throw std::runtime_error(*reason);
    return false;
  }

  ReferenceRuns runs;
  Replayer generator;
  TrialMaker maker;
};

// Trial `number` as generated, 0 or 1, at the end of a setting.
std::optional<TaskFailure> AddGenerated(const Task::Impl& task, uint64_t number, const Deadline& deadline,
                                        TrialMaker* maker, Setting* setting) {
  std::string reason;
  auto trial = maker->Make({Distribution::kGenerated, SubSeed(task.options.seed, 100 + number)}, &reason);
  if (!trial) return TaskFailure{maker->outcome(), reason};
  for (OutputCheck& output : trial->outputs) {
    if (KeepsGeneratedOnly(task)) output.expected.Slim();
  }
  setting->trials.push_back(std::move(*trial));
  if (deadline.left() > 0) return std::nullopt;
  return TaskFailure{Outcome::kTimeout, "the reference takes too long on this machine: use smaller shapes"};
}

// Grants wishes to a setting that ends with a trial as generated.
void Grant(const Task::Impl& task, const std::vector<Wish>& wishes, const Deadline& deadline,
           TrialMaker* maker, Setting* setting) {
  int64_t free_bytes = task.options.memory_bytes / 4;
  for (const Trial& trial : setting->trials) free_bytes -= BytesOf(trial);
  auto refusal = [&](const Wish& wish, int64_t bytes) -> std::string {
    if (wish.distribution == Distribution::kSpread) return "";
    return bytes > free_bytes ? kMemoryRanShort : deadline.PastShare(0.4) ? "time ran short" : "";
  };
  std::vector<std::string> reasons;
  auto others = MakeTrials(task, maker, wishes, refusal, &reasons);
  std::vector<Trial>& trials = setting->trials;
  for (size_t i = 0; i < wishes.size(); ++i) {
    const Distribution distribution = wishes[i].distribution;
    if (!others[i] && (wishes[i].strength > 1 || MayMeanNothing(distribution))) continue;
    if (!others[i]) {
      setting->notes.push_back(fmt::format("no '{}' trial: {}", DistributionName(distribution), reasons[i]));
      setting->hurried |= reasons[i] == kMemoryRanShort;  // of what was free just then
      continue;
    }
    const auto place = distribution == Distribution::kSpread ? trials.begin() : trials.end() - 1;
    trials.insert(place, std::move(*others[i]));
  }
}

}  // namespace

std::variant<Setting, TaskFailure> MakeSetting(const Task::Impl& task, Bindings bindings,
                                               const Deadline& deadline, Extent extent, bool displaced) {
  auto kept = std::make_shared<KeptReference>(task, deadline);
  ReferenceRuns& runs = kept->runs;
  if (auto failure = kept->SetUp(bindings)) return TaskFailure{OutcomeOf(failure->kind), failure->message};
  TrialMaker& maker = kept->maker;
  if (displaced) maker.SetDisplaced();
  Setting setting;
  setting.bindings = std::move(bindings);
  const bool whole = extent == Extent::kAll;
  std::vector<Wish> wishes = whole ? AllWishes(task, setting.bindings, deadline, &maker) : WishesFor(task);
  if (extent == Extent::kNearOne)
    std::erase_if(wishes, [](const Wish& wish) { return wish.distribution != Distribution::kNearOne; });
  const bool one = extent == Extent::kFirst || extent == Extent::kNearOne;
  const size_t most = whole ? wishes.size() : one ? 1 : 0;
  if (wishes.size() > most) wishes.erase(wishes.begin() + static_cast<int64_t>(most), wishes.end());
  // Those as generated come first: what NaN and Inf mean is measured against them, and no task goes without
  // them. Nor without `spread`, which tells most shortcuts: [0, 1) inputs alone let ReLU pass for the
  // identity.
  std::vector<PendingComparison> again;
  for (uint64_t i = 0; i < (whole ? 2 : 1); ++i) {
    if (auto failure = AddGenerated(task, i, deadline, &maker, &setting)) return *failure;
    if (i == 0) again = CallAgain(task, &runs, setting.trials.front());
    if (!task.keeps_no_trials) continue;
    if (auto failure = CheckDeterminism(task, &runs, setting.trials.back(), again)) return *failure;
    again.clear();
    Drop(&setting.trials.back(), kept.get());
  }
  Grant(task, wishes, deadline, &maker, &setting);
  const Trial& called = FirstGenerated(setting);
  if (auto failure = CheckDeterminism(task, &runs, called, again)) return *failure;
  if (whole) NoteFixedInputs(task, &setting);
  if (task.options.on_gpu || !whole || task.keeps_no_trials) setting.fresh = std::move(kept);
  return setting;
}

bool MakeOtherTrials(const Task::Impl& task, const Deadline& deadline, Setting* setting) {
  auto& kept = static_cast<KeptReference&>(*setting->fresh);  // MakeSetting has put it there
  // Moved and rounded weights, which make budgets, are taken anew from those that IsAsBefore asks about.
  if (auto failure = kept.SetUp(setting->bindings)) throw std::runtime_error(failure->message);
  if (!IsAsBefore(task, &kept.runs, setting->trials.back())) return false;
  std::vector<Wish> wishes = AllWishes(task, setting->bindings, deadline, &kept.maker);
  wishes.erase(wishes.begin());
  if (auto failure = AddGenerated(task, 1, deadline, &kept.maker, setting))
    throw std::runtime_error(failure->reason);
  Grant(task, wishes, deadline, &kept.maker, setting);
  NoteFixedInputs(task, setting);
  return true;
}

int AddTrials(const Task::Impl& task, const std::vector<Distribution>& distributions, uint64_t seed,
              const Deadline& deadline, Setting* setting) {
  KeptReference kept(task, deadline);
  if (kept.SetUp(setting->bindings)) return 0;
  std::string reason;
  kept.maker.Make({Distribution::kGenerated, SubSeed(seed, 0)}, &reason);  // what is finite
  std::vector<Wish> wishes;
  for (const Distribution distribution : distributions)
    wishes.push_back({distribution, SubSeed(seed, wishes.size() + 1)});
  std::vector<std::string> reasons;
  auto unbounded = [](const Wish&, int64_t) { return std::string(); };
  int added = 0;
  for (auto& trial : MakeTrials(task, &kept.maker, wishes, unbounded, &reasons)) {
    if (!trial) continue;
    setting->trials.insert(setting->trials.begin(), std::move(*trial));
    ++added;
  }
  return added;
}

}  // namespace tritogen
