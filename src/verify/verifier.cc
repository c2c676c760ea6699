// Judges a candidate: cheap findings first, then trials until one fails.
#include "verify/verifier.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/sha256.h"
#include "base/stages.h"
#include "device/device_errors.h"
#include "device/random.h"
#include "plan/hash.h"
#include "plan/visit.h"
#include "verify/sensitivity.h"
#include "verify/timings.h"
#include "verify/verifier_calls.h"
#include "verify/verifier_carry.h"
#include "verify/verifier_displaced.h"
#include "verify/verifier_evidence.h"
#include "verify/verifier_order.h"
#include "verify/verifier_runs.h"
#include "verify/verifier_seed.h"
#include "verify/verifier_state.h"
#include "verify/verifier_task.h"
#include "verify/verifier_trial_loan.h"
#include "verify/verifier_waivers.h"
#include "verify/verifier_wrong.h"

namespace tritogen {
namespace {

// Of tasks too large to keep more than two trials of: one `spread`, one as generated.
constexpr int kFreshOfLargeTasks = 2;

// Trials that every autotuned variant runs however long it takes.
constexpr size_t kTrialsOfVariants = 2;

class Verification {
 public:
  Verification(const Task& task, const Plan& candidate, const VerifyOptions& options, const Waivers& waivers)
      : whole_task_(task),
        task_(task.impl()),
        given_(candidate),
        plan_(WithWrittenInputs(candidate, task_.mutates_input)),
        options_(Resolved(options, task_.plan)),
        waivers_(waivers),
        deadline_(options.budget_seconds),
        runs_(task_, plan_, deadline_, options.budget_seconds) {}

  Verdict Run() {
    verdict_ = VerdictUnder(options_);
    verdict_.plan_hash = PlanHash(given_);
    flow_ = FlowOf(plan_);
    verdict_.work = ShareOf(task_.work, task_.moves, plan_, flow_);
    auto objection = Examine();
    if (!objection) objection = RunTrials();
    if (!objection) objection = RunFreshTrials();
    const bool whole = !task_.options.confirm;
    if (!objection && whole) objection = RunDisplaced(OptionsNow());
    if (!objection && whole) objection = FindOwnWeights();
    if (!objection && whole) objection = FindCarried(OptionsNow());
    if (!objection) objection = RunVariants();
    if (!objection && whole) objection = RunInARow();
    if (!objection && whole) objection = FindDecoys();
    if (!objection && options_.on_gpu && options_.timing_samples > 0) objection = Time();
    if (objection) {
      verdict_.outcome = objection->outcome;
      verdict_.reason = std::move(objection->reason);
      verdict_.rule = std::move(objection->rule);
      verdict_.evidence = std::move(objection->evidence);
      if (verdict_.outcome == Outcome::kWrongValues) Note(NoteOfCompiler(plan_));
    } else {
      verdict_.outcome = Outcome::kPassed;
      Note(NoteOfSharing(task_.plan, given_));
      Note(NoteOfLayout(task_.plan, given_));
      Note(NoteOfTypes(task_.plan, given_));
      if (whole) NoteState();
      verdict_.reason = fmt::format("right in {} trials", setting_->trials.size() + fresh_);
    }
    verdict_.errors = runs_.errors;
    verdict_.hurried = deadline_.hurried() || (setting_ != nullptr && setting_->hurried);
    verdict_.seconds = deadline_.elapsed();
    return std::move(verdict_);
  }

 private:
  // From the Plan alone.
  std::optional<Objection> Examine() {
    if (auto objection = CheckContract(task_.plan, plan_)) return objection;
    if (!waivers_.no_triton) {
      if (auto objection = CheckTriton(plan_, flow_, options_.mode)) return objection;
      if (auto objection = CheckCopies(plan_, verdict_.work, options_.mode)) return objection;
    }
    if (auto objection = CheckAliasing(task_.plan, plan_)) return objection;
    if (auto objection = CheckRandom(task_.plan, plan_, flow_)) return objection;
    if (auto objection = CheckHostCopies(task_.plan, plan_, flow_)) return objection;
    if (auto objection = CheckAddresses(plan_)) return objection;
    const bool by_name = MatchesByName(task_, plan_);
    if (!by_name && task_.unfinished) {
      if (auto objection = CompleteTask()) return objection;
    }
    if (auto objection = CheckReach(task_, plan_, flow_)) return objection;
    return MatchWeights(by_name);
  }

  // What the reference visibly depends on is known then, too.
  std::optional<Objection> CompleteTask() {
    if (!whole_task_.Complete()) {
      return Objection{
          Outcome::kNondeterministic,
          "behind the call the reference gives another answer than before it: its memory was written to", ""};
    }
    return CheckReach(task_, plan_, flow_);
  }

  std::optional<Objection> MatchWeights(bool by_name) {
    if (by_name) {
      setting_ = &task_.bound;
      bindings_ = BindingsFor(task_, *setting_, plan_);
      verdict_.notes = setting_->notes;
      return std::nullopt;
    }
    setting_ = task_.BySeed();
    if (setting_ == nullptr) {
      return Objection{Outcome::kInfraError, "the reference does not run with weights by seed alone", ""};
    }
    verdict_.notes = setting_->notes;
    verdict_.notes.push_back(
        "weights matched by seed, not by name; affine parameters and statistics by shape and order");
    return PairNeutralState(task_, *setting_, plan_, OptionsNow(), &bindings_);
  }

  std::unique_ptr<Replayer> SetUp(const Plan& plan, const ReplayOptions& options,
                                  std::optional<Objection>* objection) {
    auto replayer = std::make_unique<Replayer>(plan, options);
    if (auto failure = tritogen::SetUp(task_, plan, bindings_, replayer.get())) {
      *objection = ObjectionOf(*failure);
      return nullptr;
    }
    return replayer;
  }

  ReplayOptions OptionsNow() const { return OptionsFor(options_, deadline_); }

  std::optional<Objection> RunTrials() {
    const Stage stage("replay: trials");
    std::optional<Objection> objection;
    ReplayOptions options = OptionsNow();
    options.queue_only = options.on_gpu;
    main_ = SetUp(plan_, options, &objection);
    if (!main_) return objection;
    const bool tried = task_.unfinished;
    if (tried && (objection = RunFirstTrial())) return objection;
    const TrialsAlone trials = TrialsOneByOne(task_, *setting_);
    objection = Explained(runs_.RunAll(*main_, trials.watched, tried));
    if (objection || trials.unwatched.empty()) return objection;
    options = Unwatched(OptionsNow());
    options.queue_only = options.on_gpu;
    unwatched_ = true;
    main_.reset();  // large weights are not set up twice at a time
    main_ = SetUp(plan_, options, &objection);
    return main_ ? Explained(runs_.RunAll(*main_, trials.unwatched)) : objection;
  }

  // Most wrong candidates end here, and the rest of the task need not be made for them. It is run again with
  // the others: then what is expected in it is older than any call of this candidate.
  std::optional<Objection> RunFirstTrial() {
    const Stage stage("replay: first trial");
    if (auto objection = Explained(runs_.Run(*main_, setting_->trials.front()))) return objection;
    runs_.ForgetChanges();  // trials move
    if (auto objection = CompleteTask()) return objection;
    verdict_.notes = setting_->notes;
    return std::nullopt;
  }

  std::optional<Objection> Explained(std::optional<Objection> objection) {
    if (!objection || objection->outcome != Outcome::kWrongValues) return objection;
    const WrongAnswer answer{runs_.failed_trial(), &runs_.failed_outputs(), &*objection, unwatched_};
    return WhyWrong(task_, plan_, bindings_, answer, OptionsNow());
  }

  // Of inputs that nobody has met, expected values being made after the candidate has run: on a GPU those of
  // the other trials lie in memory that it might find.
  std::optional<Objection> RunFreshTrials() {
    const Stage stage("replay: fresh");
    const int count = setting_->fresh == nullptr ? 0 : task_.spares_memory ? kFreshOfLargeTasks : 1;
    for (int i = 0; i < count; ++i) {
      const uint64_t seed = SubSeed(options_.seed, Sha256Word(verdict_.plan_hash) + i);
      bool ran = false;
      std::optional<Objection> objection;
      if (i % 2 == 0) objection = RunFresh(Distribution::kSpread, seed, 1, &ran);
      // Of the others' trials one is `spread`, tamed where it must be; large tasks have this one.
      if (i % 2 == 0 && task_.spares_memory && !objection && !ran)
        objection = RunFresh(Distribution::kSpread, seed, kTamed, &ran);
      if (!objection && !ran) objection = RunFresh(Distribution::kGenerated, seed, 1, &ran);
      if (objection) return objection;
      fresh_ += ran;
    }
    return std::nullopt;
  }

  std::optional<Objection> RunDisplaced(const ReplayOptions& options) {
    const Stage stage("replay: displaced");
    return setting_ == &task_.bound ? CheckDisplaced(task_, plan_, options, &runs_) : std::nullopt;
  }

  std::optional<Objection> RunFresh(Distribution distribution, uint64_t seed, double strength, bool* ran) {
    return runs_.RunFresh(*main_, setting_->fresh.get(), distribution, seed, strength, ran);
  }

  // Any variant may turn out to be the fastest, so each runs what the first one ran, as far as time allows.
  // Behind the first one for which it does not, none may be chosen.
  std::optional<Objection> RunVariants() {
    for (int v = 1; v < MostVariants(plan_); ++v) {
      auto objection = RunVariant(v);
      if (!objection) continue;
      objection->reason = fmt::format("autotuned variant {}: {}", v, objection->reason);
      objection->evidence["variant"] = v;
      return objection;
    }
    return std::nullopt;
  }

  std::optional<Objection> RunVariant(int variant) {
    ReplayOptions options = OptionsNow();
    options.variant = variant;
    std::optional<Objection> objection;
    const auto watched = SetUp(plan_, options, &objection);
    const auto unwatched = objection || task_.options.confirm ? nullptr : SetUpUnwatched(variant, &objection);
    const std::vector<Trial>& trials = setting_->trials;
    size_t ran = 0;
    for (; ran < trials.size() && !objection; ++ran) {
      if (ran >= kTrialsOfVariants && deadline_.PastShare(0.5)) {
        verdict_.notes.push_back(
            fmt::format("autotuned variant {} ran {} trials: time ran short", variant, ran));
        break;
      }
      objection = runs_.Run(unwatched && !IsWatched(trials[ran]) ? *unwatched : *watched, trials[ran]);
    }
    if (!objection) objection = FindCarried(options);
    if (!objection && ran == trials.size() && unwatched) objection = runs_.Run(*unwatched, trials.front());
    if (!objection && ran == trials.size() && !task_.options.confirm) objection = RunDisplaced(options);
    if (ran == trials.size() && judged_variants_ == variant) ++judged_variants_;
    return objection;
  }

  std::unique_ptr<Replayer> SetUpUnwatched(int variant, std::optional<Objection>* objection) {
    ReplayOptions options = UnwatchedInOrder(OptionsNow());
    options.variant = variant;
    return SetUp(plan_, options, objection);
  }

  // Of candidates whose state is bound by name; others have their weights from the seed alone.
  std::optional<Objection> FindOwnWeights() {
    if (setting_ != &task_.bound) return std::nullopt;
    return CheckOwnWeights(task_, *setting_, bindings_, FirstGenerated(*setting_), plan_, flow_,
                           OptionsNow());
  }

  void NoteState() {
    if (setting_ != &task_.bound || task_.spares_memory || deadline_.left() <= 0) return;
    Note(NoteOfConstants(task_, plan_, flow_));
    const NeglectedState neglected =
        FindNeglectedState(task_, *setting_, bindings_, FirstGenerated(*setting_), plan_, OptionsNow());
    verdict_.unchanged_state = neglected.unchanged;
    verdict_.other_state = neglected.other;
    Note(neglected.Note());
  }

  void Note(std::string note) {
    if (!note.empty()) verdict_.notes.push_back(std::move(note));
  }

  // Whether what calls left behind so far matters to later ones.
  std::optional<Objection> FindCarried(const ReplayOptions& options) {
    if (runs_.changed().empty()) return std::nullopt;
    const std::vector<TensorId> changed(runs_.changed().begin(), runs_.changed().end());
    auto objection = CheckCarried(task_, bindings_, runs_.first_to_change(), plan_, changed, options);
    if (!objection)
      objection = CheckCarried(task_, bindings_, FirstGenerated(*setting_), plan_, changed, options);
    runs_.ForgetChanges();
    return objection;
  }

  // On one state, in another program order: catches what one call leaves behind for the next, and, since the
  // first call's inputs were right before, dependence on order.
  std::optional<Objection> RunInARow() {
    const Stage stage("replay: in a row");
    if (auto objection = runs_.OutOfTime()) return objection;
    const Row row = CallsOnOneState(task_, *setting_, deadline_);
    const Plan calls = CallsInARow(plan_, row.alone.size());
    std::optional<Objection> objection;
    const auto replayer = SetUp(calls, UnwatchedInOrder(OptionsNow()), &objection);
    if (!replayer) return objection;
    TensorList inputs, outputs;
    for (const Trial* trial : row.alone) {
      for (at::Tensor& input : CloneAll(TrialLoan(*trial).trial().inputs)) inputs.push_back(std::move(input));
    }
    if (auto failure = replayer->Run(inputs, row.alone[0]->run_seed, &outputs)) return ObjectionOf(*failure);
    inputs.clear();
    size_t call = 0;
    auto wrong = runs_.CheckCalls(row.expected, std::move(outputs), &call);
    if (!wrong) return std::nullopt;
    if (call == 0) return Unsteady(wrong->evidence["output"].get<size_t>(), *row.alone[0], *wrong);
    if (!runs_.Run(*main_, *row.alone[call])) {
      wrong->reason =
          fmt::format("call {} of {} in a row goes wrong: {}", call + 1, row.alone.size(), wrong->reason);
      wrong->evidence["call"] = call + 1;
    }
    return wrong;
  }

  // With ATen calls that compute or copy, the launches may be for show: the answer is then right without
  // them.
  std::optional<Objection> FindDecoys() {
    if (waivers_.no_triton || !MovesOrComputes(plan_, flow_)) return std::nullopt;
    const Plan without = WithoutLaunches(plan_);
    std::optional<Objection> wrong;
    const auto replayer = SetUp(without, OptionsNow(), &wrong);
    const std::vector<OutputError> errors = runs_.errors;
    if (!wrong) wrong = runs_.Run(*replayer, setting_->trials[0]);
    if (!wrong) wrong = runs_.Run(*replayer, FirstGenerated(*setting_));
    runs_.errors = errors;
    if (wrong && wrong->outcome == Outcome::kTimeout) return wrong;  // slow enough never to be found out
    if (wrong) return std::nullopt;
    verdict_.work = {};
    return Objection{Outcome::kRejected,
                     "the outputs are the same without the Triton launches",
                     "no_triton",
                     {{"decoy", true}}};
  }

  std::optional<Objection> Time() {
    const Stage stage("timing");
    main_.reset();
    auto timed = TimeCandidate(task_, *setting_, plan_, bindings_, options_, judged_variants_);
    if (auto* objection = std::get_if<Objection>(&timed)) return std::move(*objection);
    verdict_.timing = std::get<Timings>(timed).ToJson();
    return std::nullopt;
  }

  const Task& whole_task_;
  const Task::Impl& task_;
  const Plan& given_;
  const Plan plan_;  // with the outputs of the task's Plan
  const VerifyOptions options_;
  const Waivers waivers_;
  const Deadline deadline_;
  TrialRuns runs_;
  Flow flow_;
  const Setting* setting_ = nullptr;
  Bindings bindings_;  // of the candidate's state
  std::unique_ptr<Replayer> main_;
  bool unwatched_ = false;   // main_ runs unwatched
  int judged_variants_ = 1;  // the first so many ran all trials
  size_t fresh_ = 0;         // trials made for this candidate alone
  Verdict verdict_;
};

}  // namespace

Verdict VerifyWithWaivers(const Task& task, const Plan& candidate, const VerifyOptions& options,
                          const Waivers& waivers) {
  try {
    return Verification(task, candidate, options, waivers).Run();
  } catch (
      const std::exception& error) {  // a bug of ours or of libtorch must not take other candidates along
    Verdict verdict = VerdictUnder(options);
    verdict.outcome = Outcome::kInfraError;
    verdict.reason = fmt::format("the verifier failed: {}", MessageOf(error));
    return verdict;
  }
}

Verdict Verify(const Task& task, const Plan& candidate, const VerifyOptions& options) {
  return VerifyWithWaivers(task, candidate, options, Waivers{});
}

}  // namespace tritogen
