// Inside of a Task: trials with their inputs, expected values and budgets, for each of the two ways to agree
// on weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "verify/asked_values.h"
#include "verify/budget.h"
#include "verify/budget_index.h"
#include "verify/edges.h"
#include "verify/inputs.h"
#include "verify/opposed_factors.h"
#include "verify/replay.h"
#include "verify/rules.h"
#include "verify/verifier.h"
#include "verify/work.h"

namespace tritogen {

using Bindings = std::unordered_map<std::string, at::Tensor>;

class Deadline {
 public:
  explicit Deadline(double seconds) : seconds_(seconds) {}
  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  double left() const { return seconds_ - elapsed(); }
  // Asked where something can be left out; remembers that it was.
  bool PastShare(double share) const {
    const bool past = elapsed() > share * seconds_;
    hurried_ |= past;
    return past;
  }
  bool hurried() const { return hurried_; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double seconds_;
  mutable bool hurried_ = false;
};

// One output in one trial.
struct OutputCheck {
  Expectation expected;
  std::optional<Expectation> indexed;  // what an index output points into
  // The eager program computes that without any error, so equal values are equal in every program.
  bool indexes_exact = false;
  // Root mean square of the errors that inputs and weights in TF32 bring about, relative to the scale; that
  // of an earlier trial where this one was not run with them.
  double tf32_rms = 0;
  // What lies between these and what is expected is right, too (verifier_edges.h); undefined: nothing else
  // is. Known to a second look alone.
  at::Tensor up, down;
  // What the contract does not allow, inputs and weights in TF32 or, where that is the contract, in bfloat16,
  // is over budget in this trial.
  bool tells_half = false;
  // Where NaN or Inf is expected anything is right: inputs hold them that otherwise do not (HoldsBroken), and
  // programs that pass them on in different ways are honest where nobody has asked.
  bool spares_broken = false;
  // Which of equal values comes first decides, or which of those that rounding makes equal, under weights
  // that are none of the program's own: what is right has to be finite, and that is all that is known of it.
  bool order_is_open = false;

  // On a GPU a floating output is not waited for; indices are.
  PendingComparison CompareLater(const std::optional<IndexSource>& source, const at::Tensor& got) const;
  Comparison Compare(const std::optional<IndexSource>& source, const at::Tensor& got) const;

 private:
  // `got` with what is expected where that is right, too; elsewhere as far from that as from what is right.
  at::Tensor WithinRange(const at::Tensor& got) const;
  at::Tensor WithoutBroken(const at::Tensor& got) const;
};

class FreshTrials;
class SecondLook;

struct Trial {
  Distribution distribution;
  uint64_t seed;      // of the inputs
  double strength;    // of the distribution
  TensorList inputs;  // never handed to a program, only clones
  // By input: moved, its values would be others, and what noise that shows is none of an honest program's.
  std::vector<bool> exact;
  uint64_t run_seed;  // of random numbers that forward draws
  std::vector<OutputCheck> outputs;
  std::shared_ptr<SecondLook> second_look;  // at candidates that are wrong by little
  // Where inputs and outputs are not kept: who makes them again (TrialLoan), and the bytes that they take.
  FreshTrials* remaker = nullptr;
  int64_t remade_bytes = 0;

  std::string name() const { return std::string(DistributionName(distribution)); }
};

// Strength of a distribution where the reference breaks down at the full one, which is 1.
constexpr double kTamed = 0.25;

// Makes trials on demand. Of those that are kept, expected values lie in memory while candidates run, of
// these they do not exist before.
class FreshTrials {
 public:
  virtual ~FreshTrials() = default;
  // Inputs alone. Nothing, and a reason, when the reference's generator fails.
  virtual std::optional<Trial> Inputs(Distribution distribution, uint64_t seed, double strength,
                                      std::string* reason) = 0;
  // Fills in what is expected. False, and a reason, when the reference does not run on these inputs. Throws
  // where that is no matter of the inputs.
  virtual bool Expect(Trial* trial, std::string* reason) = 0;
};

// Weights, and the trials under them: the most discriminating one first. At least two are as generated, and
// one of these comes last.
struct Setting {
  Bindings bindings;  // of the reference's state; what has none comes from the seed
  std::vector<Trial> trials;
  std::vector<std::string> notes;
  std::string which;     // of Task::Impl::Displaced: what parameters are there, as a reason says it
  bool hurried = false;  // time or memory ran short: the notes say for what
  std::shared_ptr<FreshTrials> fresh;  // where one thread uses a Task: on a GPU
};

struct Task::Impl {
  Plan plan;            // its outputs: those of the reference, and behind them the inputs that it writes
  size_t returned = 0;  // so many of its outputs the reference returns
  VerifyOptions options;
  Flow flow;
  Work work, moves;  // of forward; what of it only moves data
  // Too large for all that helps: no wobbles, no TF32 twin, no measured sensitivity.
  bool spares_memory = false;
  // Too large for two trials, even: they are made anew for each call. Only where memory is spared.
  bool keeps_no_trials = false;
  int64_t trial_bytes = 0;  // what one takes that is made and judged by, beside what is judged
  // Always, of a task whose trials are kept.
  bool HasRoomForTrial() const;
  uint64_t weight_seed = 0;
  TensorList init_inputs;
  TensorList warmup;  // of the first call; empty when memory is spared, or the reference has no such call
  std::vector<std::optional<IndexSource>> index_sources;  // by output
  std::vector<std::vector<Edge>> edges;                   // by output
  std::vector<std::vector<Edge>> within;                  // by output: JumpsWithin
  bool narrow = false;                                    // some floating tensor has less than 32 bits
  bool cuts_factors = false;     // the contract is TF32, and there is something that it allows to be cut
  bool draws_random = false;     // forward draws random numbers
  bool orders_freely = false;    // forward sorts, and PyTorch leaves open in which order equal values come
  bool needs_full_rank = false;  // forward factors matrices
  bool moves_inside = false;     // a second look moves more than inputs and weights (InnerProbes)
  bool passes_one = false;       // some of these are results of functions whose small values are differences
  bool lets_few_count = false;   // forward has a softmax or the like (LetsFewCount)
  // Float32, or products of it, of which nothing is decided by size: it may be as large as float32 holds.
  // Float16 keeps as many places as TF32, but not its range.
  bool grows = false;
  // Forward takes elements for their size, and makes no products, norms or variances of them.
  bool takes_extrema = false;
  // Of some call, or one would matter (DividesByComputed), or forward asks whether all of something is such.
  bool has_epsilon = false;
  bool sinks = false;             // some integers may (AskedIntegers)
  bool has_alike = false;         // inputs of the same sizes (HasAlike)
  bool last_write_stays = false;  // of two at one place that integers say
  std::vector<bool> searched;     // by tensor leaf of the inputs: forward looks for places in it (SearchedIn)
  std::vector<bool> probabilities;  // by tensor leaf of the inputs (ProbabilitiesOf)
  // Buffers that forward compares something with. Moved, they are no longer equal to what they are meant to
  // be.
  std::vector<std::string> compared_state;
  // By tensor leaf of the inputs: floats that elements are read by. They stay as generated, as integers do.
  std::vector<bool> places;
  std::vector<bool> flags;                  // by tensor leaf of the inputs (AskedIntegers)
  std::vector<std::optional<size_t>> keys;  // likewise (KeysOf)
  AskedValues asked, missing, minus_inf;    // by tensor leaf of the inputs
  OpposedFactors opposed;  // empty, too, where products differ by less than the precision tells
  // All inputs are exact (Trial::exact): sums of zeros and ones are, and so are products of powers of two,
  // which moved by as much as few places can be would lie far apart; and moved, a number is no longer what it
  // is compared with.
  bool HasExactInputs(Distribution distribution) const {
    const auto exactly = [](const Asked& of_leaf) { return !of_leaf.exactly.empty(); };
    return distribution == Distribution::kBinary ||
           (distribution == Distribution::kOpposed && (narrow || cuts_factors)) ||
           (distribution == Distribution::kAsked && std::ranges::any_of(asked, exactly));
  }
  std::vector<bool> mutates_input;  // by tensor leaf of the inputs: the reference writes it
  bool mutates() const {
    return std::find(mutates_input.begin(), mutates_input.end(), true) != mutates_input.end();
  }
  std::string OutputName(size_t output) const;  // "output 0", "input 2 after the call"
  bool Jumps(size_t output) const {
    return std::any_of(edges[output].begin(), edges[output].end(), [](const Edge& e) { return e.jumps(); });
  }
  // Some elements are taken for their size, and an output hangs on which.
  bool Picks() const {
    return std::ranges::any_of(within, [](const std::vector<Edge>& edges) {
      return std::ranges::any_of(edges, [](const Edge& e) { return e.kind == EdgeKind::kPick; });
    });
  }
  bool HasFlatParts(size_t output) const {
    return std::any_of(edges[output].begin(), edges[output].end(),
                       [](const Edge& e) { return e.kind == EdgeKind::kFlat; });
  }
  // Moved inputs say nothing about this output: moved by half a unit in the last place of half precision,
  // many places come to lie behind a jump, which in a program that is given the same inputs do not.
  bool IgnoresMoved(size_t output) const {
    const auto stairs = [](const Edge& e) { return e.kind == EdgeKind::kStairs; };
    return narrow && !cuts_factors && std::any_of(edges[output].begin(), edges[output].end(), stairs);
  }
  std::vector<int> sensitive_inputs;         // leaves that an output visibly depends on
  std::vector<std::string> sensitive_state;  // entries that an output visibly depends on
  // State that forward updates and whose values before a call no output depends on; measured as those are.
  std::set<std::string> unseen_state;
  std::vector<std::string> replaced;  // state entries that were made non-neutral
  Bindings neutral;                   // their values before that
  Bindings constructed;  // all of them, as they were before, where one has rows of zeros; else none
  Setting bound;         // state bound by name
  // Of `bound` there are the first trials only, one of them as generated; `sensitive_*` and the notes are not
  // known yet.
  bool unfinished = false;
  bool spoiled = false;  // Task::spoiled

  // The setting for a candidate whose state names do not match: KernelBench's convention, the same seed on
  // both sides, but for the entries that were made non-neutral. Made when first asked for. Nothing when the
  // reference does not run that way in the time. Thread-safe.
  const Setting* BySeed() const;
  // It, where it was made.
  const std::optional<Setting>& by_seed() const { return by_seed_; }
  // The settings with biases far from zero, for what is taken for its size, and for what bounds and
  // exponentials are given (verifier_displaced.h). Made when first asked for. None where forward has neither,
  // has no biases, or does not bear it. Thread-safe.
  const std::vector<Setting>& Displaced() const;
  // Those that were made.
  const std::vector<Setting>& displaced() const { return displaced_; }

 private:
  mutable std::once_flag by_seed_once_;
  mutable std::optional<Setting> by_seed_;
  mutable std::once_flag displaced_once_;
  mutable std::vector<Setting> displaced_;
};

// Of inputs and expected values, kept or not.
int64_t BytesOf(const Trial& trial);
// What is expected of all outputs, and of what index outputs point into.
std::vector<const Expectation*> ExpectationsOf(const Trial& trial);
// Some element that is expected is NaN or Inf where it is not for generated inputs; never where inputs are
// meant to hold such (HoldsBroken). A GPU is waited for.
bool BreaksDown(const Trial& trial);

// The outputs of a call on the trial's inputs with what is expected, by output; see OutputCheck.
std::vector<PendingComparison> CompareLater(const Task::Impl& task, const Trial& trial,
                                            std::span<const at::Tensor> outputs);

TensorList CloneAll(const TensorList& tensors);
Outcome OutcomeOf(ReplayFailure::Kind kind);
// Inputs of the first call and of the constructor. The first call
// sees inputs that no trial uses, so that what a program keeps from its first call is stale.
std::optional<ReplayFailure> GenerateWarmup(const Task::Impl& task, const Deadline& deadline,
                                            TensorList* warmup, TensorList* init_inputs);
// Set-up with the task's seed (or another one), constructor inputs and first call; nothing of the task is
// handed to the program itself.
std::optional<ReplayFailure> SetUp(const Task::Impl& task, const Plan& plan, const Bindings& bindings,
                                   Replayer* replayer, std::optional<uint64_t> seed = std::nullopt);
// `options` are resolved: threads and memory are positive.
ReplayOptions OptionsFor(const VerifyOptions& options, const Deadline& deadline);
// For replays of the reference, which nobody suspects: on a GPU they are only queued.
ReplayOptions ReferenceOptionsFor(const VerifyOptions& options, const Deadline& deadline);

// Makes the trials of one setting and leaves out those in which the reference itself breaks. Stops early,
// with a note, when time or memory runs short, but never before two trials as generated and the `spread` one.
// `kFirst`: one as generated and the `spread` one; `kGenerated`: that alone; `kNearOne`: with the
// `near_one` trial. `displaced`: the bindings are none that the program could come by, so nothing hangs on
// the order of equal values in any trial (OutputCheck::order_is_open). On a GPU a task that spares memory has
// no more than two as generated.
enum class Extent { kAll, kFirst, kGenerated, kNearOne };
std::variant<Setting, TaskFailure> MakeSetting(const Task::Impl& task, Bindings bindings,
                                               const Deadline& deadline, Extent extent = Extent::kAll,
                                               bool displaced = false);

// Adds the others. Candidates have run since: the reference must still give what it gave before. False when
// it does not, and nothing is added then.
bool MakeOtherTrials(const Task::Impl& task, const Deadline& deadline, Setting* setting);

// Adds trials to a setting from MakeSetting. Returns how many the reference could bear.
int AddTrials(const Task::Impl& task, const std::vector<Distribution>& distributions, uint64_t seed,
              const Deadline& deadline, Setting* setting);

// Tries the negative controls on a setting from MakeSetting. Where one passes, trials are added; where it
// still passes, a note says so.
void Harden(const Task::Impl& task, const Deadline& deadline, Setting* setting);

}  // namespace tritogen
