// Makes trials one by one from a reference that is set up: inputs, and what is expected for them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/meant_infinities.h"
#include "verify/verifier_reference.h"
#include "verify/verifier_task.h"

namespace tritogen {

// A trial that is wanted.
struct Wish {
  Distribution distribution;
  uint64_t seed;
  double strength = 1;
  bool keep_signs = false;                    // no negative numbers where none was generated
  std::optional<size_t> keep = std::nullopt;  // an input that stays as generated
  std::optional<size_t> only = std::nullopt;  // the one that does not
};

class TrialMaker {
 public:
  TrialMaker(const Task::Impl& task, ReferenceRuns* runs, Replayer* generator)
      : task_(task), runs_(*runs), generator_(*generator), named_(NonFiniteNamed(task.plan)) {}

  // The weights under which the reference is set up.
  void SetBindings(const Bindings& bindings) { bindings_ = std::make_shared<const Bindings>(bindings); }
  // None that the program could come by.
  void SetDisplaced() { displaced_ = true; }

  // Nothing and a reason when the reference breaks.
  std::optional<Trial> Make(const Wish& wish, std::string* reason);
  std::optional<Trial> MakeInputs(const Wish& wish, std::string* reason);
  // Fills in what is expected. False and a reason likewise.
  bool Expect(Trial* trial, std::string* reason);

  // Of calls in a row, which `runs` makes so many of: their trials are copies, with other expected values.
  // Nothing where the reference breaks.
  std::vector<Trial> ExpectInARow(const std::vector<const Trial*>& row);

  Outcome outcome() const { return outcome_; }  // of the last failure

 private:
  enum class Kind { kTwoIntegers, kIntegers, kOther };  // what an input holds, as generated

  bool HasNothingToEmpty(Distribution distribution) const;
  // What the wish makes of generated inputs; nothing where none of them changes.
  std::optional<TensorList> Changed(const Wish& wish, const TensorList& generated, uint64_t seed) const;
  std::vector<bool> ExactIn(Distribution distribution, const TensorList& generated);
  bool IsOwn(const Trial& trial) const;
  bool OrderMatters(const Trial& trial);
  // Whether `is_such` of the outputs of any of so many runs with moved inputs and weights.
  template <typename F>
  bool AnyMovedRun(const Trial& trial, const MovedOptions& options, int first, int count,
                   const F& is_such) const;
  bool Tf32Decides(const Trial& trial);
  bool RoundingDecides(const Trial& trial);
  bool PicksOthers(const TensorList& eager, const Trial& trial) const;
  bool PicksAreOpen(const TensorList& eager, const Trial& trial);
  bool AsksAboutPicks(const Trial& trial) const;
  bool AsksOthers(const Trial& trial) const;
  bool MovesTooFar(const Trial& trial, size_t output, const at::Tensor& moved) const;
  void KeepBase(const TensorList& eager);
  at::Tensor BaseOf(size_t output, const ReferenceRuns::Results& results, Distribution distribution) const;
  void Fill(const ReferenceRuns::Results& results, Trial* trial);
  void MeasureNarrow(const TensorList& narrow, Trial* trial);

  const Task::Impl& task_;
  ReferenceRuns& runs_;
  Replayer& generator_;
  std::shared_ptr<const Bindings> bindings_;
  bool displaced_ = false;
  std::vector<Kind> kinds_;       // by input; known from the first trial on
  const NonFinite named_;         // by the program, as numbers
  TensorList base_;               // eager outputs of the first trial as generated
  std::vector<NonFinite> meant_;  // of each of them: what it holds, or the program names
  bool wants_narrow_ = true;
  std::vector<double> tf32_rms_;  // by output, as OutputCheck has it
  std::vector<bool> told_;        // by output: what is not allowed was over budget in some trial
  Outcome outcome_ = Outcome::kInfraError;
};

}  // namespace tritogen
