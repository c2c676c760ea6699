// The reference set up in every precision that a budget needs, under one set of weights.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "verify/verifier_task.h"

namespace tritogen {

class ReferenceRuns {
 public:
  // Outputs of the plan, and after them what its index outputs point into. `calls`: so many in a row on one
  // state, with the inputs of all, and then the outputs of all.
  ReferenceRuns(const Task::Impl& task, const Deadline& deadline, size_t calls = 1);

  // Also once more: then nothing is left of what the weights were in the meantime.
  std::optional<ReplayFailure> SetUp(const Bindings& bindings);

  struct Results {
    TensorList eager, exact, narrow;
    std::vector<TensorList> wobbles;  // under a TF32 contract with what that allows
  };
  // `exact`: Trial::exact; of calls in a row, that of each.
  // `with_narrow`: with what inputs and weights bring about that are rounded to what the contract does not
  // allow any more, too (Narrow).
  std::optional<ReplayFailure> Run(const TensorList& inputs, uint64_t seed, const std::vector<bool>& exact,
                                   bool with_narrow, Results* results);
  // In fp64 alone.
  std::optional<ReplayFailure> RunExact(const TensorList& inputs, uint64_t seed, TensorList* outputs);
  // In fp64, with ReplayOptions::order_of_equals.
  std::optional<ReplayFailure> RunOrdered(int order, const TensorList& inputs, uint64_t seed,
                                          TensorList* outputs);
  std::optional<ReplayFailure> RunEager(const TensorList& inputs, uint64_t seed, TensorList* outputs);
  // In the last run in fp64 some call's partial results left their range by the order that they are made in
  // (verify/partial_range.h). Of tasks that spare memory nobody knows. Asked once for each run.
  bool LeftRange();

 private:
  // Each float32 tensor in TF32, or, where that is the contract, in bfloat16.
  TensorList Narrow(const TensorList& tensors) const;

  // Into the first wobble.
  std::optional<ReplayFailure> RunCut(const TensorList& inputs, uint64_t seed, Results* results);

  const Task::Impl& task_;
  Plan plan_;  // with the extra outputs
  ReplayOptions options_;
  std::vector<Probe> range_probes_;
  Replayer eager_, exact_;
  Bindings narrow_state_;
  std::unique_ptr<Replayer> narrow_;                  // made when first asked for
  std::unique_ptr<Replayer> cut_;                     // under a TF32 contract
  std::map<int, std::unique_ptr<Replayer>> ordered_;  // likewise
  std::vector<std::unique_ptr<Replayer>> wobbles_;
};

struct MovedOptions {
  double times = 1;  // so far are inputs and weights moved, in halves of their last places
  std::vector<Probe>* probes = nullptr;  // ReplayOptions::probes
  bool inside = false;  // what honest programs round inside moves, too (verify/inner_noise.h); without probes
  bool sums = false;    // so do terms of sums
  bool errors = false;  // for outputs, what the eager program is off by there; none of the other options
};

// More runs in fp64 with inputs and weights moved, numbered, unlike those of ReferenceRuns.
class MovedRuns {
 public:
  MovedRuns(const Task::Impl& task, const Deadline& deadline, MovedOptions options = {});
  std::optional<ReplayFailure> SetUp(const Bindings& bindings);
  // Outputs of the plan, or its errors, in fp64; outputs under a TF32 contract with factors cut.
  // `exact` as above.
  std::optional<ReplayFailure> Run(int number, const TensorList& inputs, uint64_t seed,
                                   const std::vector<bool>& exact, TensorList* outputs);

 private:
  // Inputs and weights as a run number has them, in their declared types.
  struct Nearby {
    TensorList inputs;
    Bindings weights;
  };
  Nearby Rounded(size_t stream, const TensorList& inputs, uint64_t seed,
                 const std::vector<bool>& exact) const;
  std::optional<ReplayFailure> RunOn(const Nearby& given, uint64_t seed, bool in_float64,
                                     TensorList* outputs) const;
  std::optional<ReplayFailure> RunErrors(const Nearby& given, uint64_t seed, TensorList* errors) const;
  // Moves what is inside, where inputs move.
  std::optional<ReplayFailure> MoveInner(const TensorList& inputs, uint64_t seed, uint64_t stream,
                                         const std::vector<bool>& exact);

  const Task::Impl& task_;
  const Deadline& deadline_;
  const MovedOptions options_;
  std::vector<Probe> inner_;
  Replayer eager_;  // whose weights are moved
};

// What a program may do under a TF32 contract, as a wobble: of the difference between outputs with factors
// `cut` and `exact` ones a quarter, since four times the error of such a run is allowed, not sixteen times as
// of others; where `wobble`, when there is one, differs by more, that.
at::Tensor AllowedCut(const at::Tensor& exact, const at::Tensor& cut, const at::Tensor& wobble = {});

// What a row's noise counts as at the least, given that wobble: as much as allows eight times the root mean
// square of what cut factors bring about, over the elements where they bring anything about.
at::Tensor LeastOfCut(const at::Tensor& exact, const at::Tensor& wobble);

// Floating tensors in fp64, others as they are; copies.
TensorList ToDouble(const TensorList& tensors);

// The plan with more outputs: the tensors that index outputs point into, in order.
Plan WithIndexedOutputs(const Plan& plan, const std::vector<std::optional<IndexSource>>& sources);

}  // namespace tritogen
