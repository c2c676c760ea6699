#include "verify/verifier_trial_maker.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "device/aten_dtype.h"
#include "device/random.h"
#include "plan/visit.h"
#include "verify/asked_choices.h"
#include "verify/inputs_alike.h"
#include "verify/inputs_blank.h"
#include "verify/inputs_sunk.h"
#include "verify/precision.h"
#include "verify/verifier_second_look.h"

namespace tritogen {
namespace {

constexpr double kTimesMoved = 4;

std::vector<at::Tensor> Column(const std::vector<TensorList>& lists, size_t i) {
  std::vector<at::Tensor> column;
  for (const TensorList& list : lists) column.push_back(list[i]);
  return column;
}

// Up or down by as much as rounds the largest of `like`.
at::Tensor MovedByUnits(const at::Tensor& exact, const at::Tensor& like, uint64_t seed) {
  if (like.numel() == 0) return exact;
  const at::Tensor most = like.to(at::kDouble).abs().nan_to_num(0, 0, 0).max();
  const at::Tensor unit = most * (2 * UnitRoundoff(like.scalar_type()));
  return exact + unit * Random(seed, exact.device()).Signs(exact.sizes());
}

}  // namespace

std::optional<Trial> TrialMaker::Make(const Wish& wish, std::string* reason) {
  auto trial = MakeInputs(wish, reason);
  if (!trial || !Expect(&*trial, reason)) return std::nullopt;
  return trial;
}

// Asked before anything is generated: of most tasks it is known by then.
bool TrialMaker::HasNothingToEmpty(Distribution distribution) const {
  const std::vector<TensorId> leaves = TensorLeaves(task_.plan.inputs);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Dtype dtype = task_.plan.tensors[leaves[i]].dtype;
    const bool floating = IsFloating(dtype), two = i < kinds_.size() && kinds_[i] == Kind::kTwoIntegers;
    const bool floats = distribution == Distribution::kZeros || distribution == Distribution::kLevel;
    const bool may = floats                  ? floating && !two
                     : Gathers(distribution) ? IsInteger(dtype)
                                             : !floating || two || kinds_.empty();
    if (may) return false;
  }
  return true;
}

std::optional<TensorList> TrialMaker::Changed(const Wish& wish, const TensorList& generated,
                                              uint64_t seed) const {
  if (IsBlank(wish.distribution))
    return Blank(wish.distribution, {task_.flags, task_.last_write_stays, task_.keys}, generated, seed);
  switch (wish.distribution) {
    case Distribution::kAlike:
      return Alike(generated, task_.last_write_stays, seed);
    case Distribution::kSunk:
      return Sunk(task_.asked, generated);
    case Distribution::kOpposed:
      return Oppose(task_.opposed, generated, seed, wish.strength);
    case Distribution::kAsked:
      return PlantAsked(task_.asked, generated, seed, wish.strength);
    case Distribution::kMissing:
      return PlantAsked(task_.missing, generated, seed, wish.strength);
    case Distribution::kMinusInf:
      return PlantAsked(task_.minus_inf, generated, seed, wish.strength);
    default:
      return Transform(wish.distribution, generated, seed, wish.strength, wish.keep_signs);
  }
}

std::optional<Trial> TrialMaker::MakeInputs(const Wish& wish, std::string* reason) {
  if (IsBlank(wish.distribution) && HasNothingToEmpty(wish.distribution)) return std::nullopt;
  TensorList generated, unused;
  if (auto failure = generator_.Generate(wish.seed, &generated, &unused)) {
    *reason = failure->message;
    outcome_ = OutcomeOf(failure->kind);
    return std::nullopt;
  }
  const uint64_t seed = SubSeed(wish.seed, 1);
  auto changed = Changed(wish, generated, seed);
  if (!changed) return std::nullopt;
  TensorList inputs = std::move(*changed);
  if (wish.keep) inputs[*wish.keep] = generated[*wish.keep];
  for (size_t i = 0; wish.only && i < inputs.size(); ++i)
    if (i != *wish.only) inputs[i] = generated[i];
  const auto is_same = [](const at::Tensor& one, const at::Tensor& other) { return one.is_same(other); };
  if ((Chooses(wish.distribution) || wish.only) && std::ranges::equal(inputs, generated, is_same))
    return std::nullopt;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (task_.places[i]) inputs[i] = generated[i];
  }
  KeepInOrder(task_.searched, generated, &inputs);
  KeepProbabilities(task_.probabilities, &inputs);
  if (wish.distribution == Distribution::kBinary) LowerFlags(task_.flags, seed, wish.strength, &inputs);
  std::vector<bool> exact = ExactIn(wish.distribution, generated);
  return Trial{.distribution = wish.distribution,
               .seed = wish.seed,
               .strength = wish.strength,
               .inputs = std::move(inputs),
               .exact = std::move(exact),
               .run_seed = SubSeed(wish.seed, 2),
               .outputs = {},
               .second_look = std::make_shared<SecondLook>(task_, bindings_)};
}

// Integers are compared, cast and looked up by, and stay integers where they are not made anew.
std::vector<bool> TrialMaker::ExactIn(Distribution distribution, const TensorList& generated) {
  constexpr Distribution kKeeps[] = {Distribution::kGenerated, Distribution::kPlanted,
                                     Distribution::kPlantedApart, Distribution::kFlipped};
  if (task_.HasExactInputs(distribution)) return std::vector<bool>(generated.size(), true);
  for (size_t i = kinds_.size(); i < generated.size(); ++i) {
    const bool integers = HoldsIntegers(generated[i]);
    kinds_.push_back(!integers                   ? Kind::kOther
                     : IsTwoValued(generated[i]) ? Kind::kTwoIntegers
                                                 : Kind::kIntegers);
  }
  const bool keeps = std::ranges::find(kKeeps, distribution) != std::end(kKeeps);
  std::vector<bool> exact;
  for (const Kind kind : kinds_)
    exact.push_back(kind == Kind::kTwoIntegers || (kind == Kind::kIntegers && keeps));
  return exact;
}

bool TrialMaker::Expect(Trial* trial, std::string* reason) {
  ReferenceRuns::Results results;
  if (auto failure = runs_.Run(trial->inputs, trial->run_seed, trial->exact, wants_narrow_, &results)) {
    *reason = failure->message;
    outcome_ = OutcomeOf(failure->kind);
    return false;
  }
  Fill(results, trial);
  // Of zeros only constants are left behind weights, and what a norm makes of one number again and again is
  // noise: whether the answer is finite is what can be asked.
  const bool constant = trial->distribution == Distribution::kZeros || IsNothing(trial->distribution);
  if ((constant && !bindings_->empty()) || trial->distribution == Distribution::kLevel)
    for (OutputCheck& output : trial->outputs) output.order_is_open = true;
  // Where memory is too short for any trial it is too short for this, too: a trial's own outputs stand in.
  const bool first = trial->distribution == Distribution::kGenerated && base_.empty();
  if (first && !task_.keeps_no_trials) KeepBase(results.eager);
  if (displaced_ && trial->distribution == Distribution::kGenerated) {  // which is never left out
    const bool open = PicksAreOpen(results.eager, *trial);
    for (OutputCheck& output : trial->outputs) output.order_is_open = open;
    return true;
  }
  if (OrderMatters(*trial)) {
    *reason = "equal values may come in any order, and the answer depends on it";
  } else if (Tf32Decides(*trial)) {
    *reason = "the answer depends on what TF32 cuts off";
  } else if (PicksOthers(results.eager, *trial) || RoundingDecides(*trial)) {
    *reason = task_.narrow ? "the answer depends on how half precision rounds"
                           : "rounding decides which elements are picked, and the answer depends on that";
  } else if (trial->distribution != Distribution::kGenerated && runs_.LeftRange()) {
    *reason = "products, squares or sums hang on the order in which they are made";
  } else {
    return true;
  }
  outcome_ = Outcome::kNondeterministic;
  return false;
}

std::vector<Trial> TrialMaker::ExpectInARow(const std::vector<const Trial*>& row) {
  TensorList inputs;
  std::vector<bool> exact;
  for (const Trial* trial : row) {
    inputs.insert(inputs.end(), trial->inputs.begin(), trial->inputs.end());
    exact.insert(exact.end(), trial->exact.begin(), trial->exact.end());
  }
  ReferenceRuns::Results all;
  if (runs_.Run(inputs, row[0]->run_seed, exact, /*with_narrow=*/false, &all)) return {};
  const size_t count = all.exact.size() / row.size();
  std::vector<Trial> expected;
  for (size_t call = 0; call < row.size(); ++call) {
    const auto of_call = [&](const TensorList& outputs) {
      const auto first = outputs.begin() + static_cast<int64_t>(call * count);
      return TensorList(first, first + static_cast<int64_t>(count));
    };
    ReferenceRuns::Results results{.eager = of_call(all.eager), .exact = of_call(all.exact)};
    for (const TensorList& wobble : all.wobbles) results.wobbles.push_back(of_call(wobble));
    expected.push_back({.distribution = row[call]->distribution,
                        .seed = row[call]->seed,
                        .strength = row[call]->strength,
                        .run_seed = row[call]->run_seed});
    Fill(results, &expected.back());
  }
  return expected;
}

// Of the numbers from `first` on; a reference that does not run is any.
template <typename F>
bool TrialMaker::AnyMovedRun(const Trial& trial, const MovedOptions& options, int first, int count,
                             const F& is_such) const {
  const Deadline deadline(task_.options.budget_seconds);
  MovedRuns runs(task_, deadline, options);
  if (runs.SetUp(*bindings_)) return true;
  for (int number = first; number < first + count; ++number) {
    TensorList outputs;
    if (runs.Run(number, trial.inputs, trial.run_seed, trial.exact, &outputs) || is_such(outputs))
      return true;
  }
  return false;
}

// Whether the reference itself, with factors cut at random, is over the budget, or that lets nearly anything
// pass. Asked where values are far from what a program is made for: steps and saturation then make of little
// errors large ones.
bool TrialMaker::Tf32Decides(const Trial& trial) {
  constexpr int kRuns = 2;
  constexpr double kMostOfScale = 0.1;  // what is allowed more than that tells little
  if (!task_.cuts_factors || trial.distribution != Distribution::kHuge) return false;
  return AnyMovedRun(trial, {}, 0, kRuns, [&](const TensorList& outputs) {
    std::vector<PendingComparison> pending = CompareLater(task_, trial, outputs);
    PendingComparison::GetAll(pending);
    return std::ranges::any_of(
        pending, [](PendingComparison& one) { return !one.Get().ok || one.Get().budget > kMostOfScale; });
  });
}

// Whether honest programs may give another answer altogether. In half precision: where scores of attention
// lie far apart one takes all, and which one does, where two are close, hangs on how each step rounds. Two or
// three runs rarely show it in the rows in which the next program does, so inputs and weights are moved by
// kTimesMoved as much as honest programs differ: that brings as many more rows to the other side, and where
// nothing is decided the answer stays within half of its budget. Where elements are picked, it is asked
// what the eager program is off by near these inputs.
bool TrialMaker::RoundingDecides(const Trial& trial) {
  constexpr int kRuns = 3;
  const bool narrow = task_.narrow && task_.lets_few_count && AsksOthers(trial);
  if (!narrow && !AsksAboutPicks(trial)) return false;
  const MovedOptions options =
      narrow ? MovedOptions{.times = kTimesMoved} : MovedOptions{.times = kTimesApart, .errors = true};
  return AnyMovedRun(trial, options, kMoreRuns, kRuns, [&](const TensorList& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const at::Tensor& exact = trial.outputs[i].expected.exact();
      if (MovesTooFar(trial, i, options.errors ? outputs[i] + exact : outputs[i])) return true;
    }
    return false;
  });
}

// Whether the eager program itself picks so many other elements than fp64 does that a second look, which asks
// about few, is no help; or others at all where integers are made of them: how often one was picked, what was
// picked before it.
bool TrialMaker::PicksOthers(const TensorList& eager, const Trial& trial) const {
  constexpr double kMostShare = 1.0 / 256;
  const bool picks = AsksAboutPicks(trial), orders = task_.orders_freely && AsksOthers(trial);
  TensorList others;  // by output
  for (size_t i = 0; i < trial.outputs.size() && (picks || orders); ++i) {
    const Expectation& expected = trial.outputs[i].expected;
    if (!at::isFloatingType(expected.dtype())) {
      if (orders && !task_.index_sources[i])
        others.push_back(eager[i].to(at::kDouble).ne(expected.exact().to(at::kDouble)).any());
      continue;
    }
    if (!picks || task_.within[i].empty()) continue;
    // Of another element nearly half of the digits are others.
    const double apart = std::sqrt(UnitRoundoff(expected.dtype())) * expected.scale();
    const at::Tensor far = (eager[i].to(at::kDouble) - expected.exact()).abs() > apart;
    others.push_back(far.to(at::kDouble).mean() > kMostShare);
  }
  return !others.empty() && at::stack(others).any().item<bool>();
}

bool TrialMaker::PicksAreOpen(const TensorList& eager, const Trial& trial) {
  return OrderMatters(trial) || PicksOthers(eager, trial) ||
         (AsksAboutPicks(trial) && RoundingDecides(trial));
}

// The program's own inputs under weights that it may have.
bool TrialMaker::IsOwn(const Trial& trial) const {
  return trial.distribution == Distribution::kGenerated && !displaced_;
}

bool TrialMaker::AsksAboutPicks(const Trial& trial) const {
  return task_.Picks() && !task_.narrow && AsksOthers(trial);
}

// Whether a trial is one of those that may be left out: not of the program's own inputs, nor of exact ones.
bool TrialMaker::AsksOthers(const Trial& trial) const {
  const bool exact = trial.distribution == Distribution::kBinary;
  return !task_.cuts_factors && !task_.spares_memory && !IsOwn(trial) && !exact;
}

bool TrialMaker::MovesTooFar(const Trial& trial, size_t output, const at::Tensor& moved) const {
  const Expectation& expected = trial.outputs[output].expected;
  if (!at::isFloatingType(expected.dtype()) || task_.IgnoresMoved(output)) return false;
  const Comparison comparison = LookTwice(task_, trial, output, moved);
  // Moved so far, a value may come off a flat part that no honest program leaves, but by little.
  const bool by_little = comparison.error * expected.scale() <= expected.rms_budget();
  return !comparison.ok && (task_.edges[output].empty() || !by_little);
}

// Of values that are equal. Nobody asks of inputs as generated, which are the program's own.
bool TrialMaker::OrderMatters(const Trial& trial) {
  const bool asked = task_.orders_freely && !IsOwn(trial);
  if (!asked || (task_.spares_memory && task_.options.on_gpu)) return false;
  for (const int order : {1, -1}) {
    TensorList outputs;
    if (runs_.RunOrdered(order, trial.inputs, trial.run_seed, &outputs)) continue;
    std::vector<PendingComparison> pending = CompareLater(task_, trial, outputs);
    PendingComparison::GetAll(pending);
    for (size_t i = 0; i < trial.outputs.size(); ++i) {
      const Comparison& comparison = pending[i].Get();
      if (comparison.ok) continue;
      // Among numbers that are large and alike another one is off by little, and no candidate is let off for
      // it.
      if (!MayBeLuck(task_, trial, i, comparison) || !LookTwice(task_, trial, i, outputs[i]).ok) return true;
    }
  }
  return false;
}

// A GPU is not waited for where the program names none.
void TrialMaker::KeepBase(const TensorList& eager) {
  base_ = eager;
  for (size_t i = 0; i < eager.size(); ++i) {  // what indices point into, too
    // PyTorch does not say of floats of a byte whether they are finite.
    const bool floats = at::isFloatingType(eager[i].scalar_type()) && eager[i].element_size() > 1;
    const bool looks = floats && (named_.Any() || !task_.options.on_gpu);
    meant_.push_back(looks ? NonFiniteIn(eager[i]) | named_ : NonFinite());
  }
}

// Where numbers are as large as float32 holds Inf says nothing.
at::Tensor TrialMaker::BaseOf(size_t output, const ReferenceRuns::Results& results,
                              Distribution distribution) const {
  if (base_.empty()) return {};
  const at::Tensor& base = base_[output];
  if (!meant_[output].Any() || distribution == Distribution::kHuge) return base;
  return WithMeant(base, meant_[output], results.exact[output], results.eager[output],
                   Column(results.wobbles, output));
}

void TrialMaker::Fill(const ReferenceRuns::Results& results, Trial* trial) {
  const size_t count = task_.index_sources.size();
  size_t extra = count;
  for (size_t i = 0; i < count; ++i) {
    const at::Tensor base = BaseOf(i, results, trial->distribution);
    const auto wobbles = task_.IgnoresMoved(i) ? std::vector<at::Tensor>() : Column(results.wobbles, i);
    OutputCheck check{Expectation(results.exact[i], results.eager[i], wobbles, base), std::nullopt};
    const at::Tensor& exact = check.expected.exact();
    if (task_.cuts_factors && at::isFloatingType(check.expected.dtype()))
      check.expected.RaiseRows(LeastOfCut(exact, results.wobbles.front()[i]));
    // Where all cancels what is left is noise of what does: a unit in the last place of usual answers.
    if (MayCancel(trial->distribution) && base.defined() && at::isFloatingType(check.expected.dtype()))
      check.expected.Widen(MovedByUnits(exact, base, trial->run_seed));
    // Rows that are flat throughout have no noise of their own.
    if (task_.HasFlatParts(i)) check.expected.RaiseRowsToNoise();
    if (task_.index_sources[i]) {
      check.indexed.emplace(results.exact[extra], results.eager[extra], Column(results.wobbles, extra),
                            BaseOf(extra, results, trial->distribution));
      check.indexes_exact = (task_.index_sources[i]->stable || task_.index_sources[i]->first) &&
                            results.eager[extra].to(at::kDouble).equal(check.indexed->exact());
      ++extra;
    }
    check.spares_broken = HoldsBroken(trial->distribution);
    trial->outputs.push_back(std::move(check));
  }
  if (!results.narrow.empty()) MeasureNarrow(results.narrow, trial);
  for (size_t i = 0; i < count; ++i) trial->outputs[i].tf32_rms = tf32_rms_.empty() ? 0 : tf32_rms_[i];
}

// Later trials do without once what is not allowed is known and over budget.
void TrialMaker::MeasureNarrow(const TensorList& narrow, Trial* trial) {
  tf32_rms_.assign(trial->outputs.size(), 0);
  told_.resize(trial->outputs.size(), false);
  wants_narrow_ = false;
  for (size_t i = 0; i < trial->outputs.size(); ++i) {
    OutputCheck& check = trial->outputs[i];
    const Comparison comparison = check.Compare(task_.index_sources[i], narrow[i]);
    const double scale = check.expected.scale();
    tf32_rms_[i] = scale > 0 ? comparison.rms / scale : 0;
    if (task_.cuts_factors) tf32_rms_[i] /= kBfloat16OverTf32;
    check.tells_half = !comparison.ok;
    told_[i] = told_[i] || check.tells_half;
    wants_narrow_ |= check.expected.dtype() == at::kFloat && !told_[i];
  }
}

}  // namespace tritogen
