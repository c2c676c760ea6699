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
  // Outputs of the plan, and after them what its index outputs point into.
  ReferenceRuns(const Task::Impl& task, const Deadline& deadline);

  // Also once more: then nothing is left of what the weights were in the meantime.
  std::optional<ReplayFailure> Setup(const Bindings& bindings);

  struct Results {
    TensorList eager, exact, tf32;
    std::vector<TensorList> wobbles;
  };
  // `exact_inputs`: the binary distribution, where rounding of inputs is no excuse, only that of weights.
  // `with_tf32`: with what inputs and weights in TF32 bring about, too.
  std::optional<ReplayFailure> Run(const TensorList& inputs, uint64_t seed, bool exact_inputs, bool with_tf32,
                                   Results* results);
  // In fp64 alone.
  std::optional<ReplayFailure> RunExact(const TensorList& inputs, uint64_t seed, TensorList* outputs);
  // In fp64, with ReplayOptions::order_of_equals.
  std::optional<ReplayFailure> RunOrdered(int order, const TensorList& inputs, uint64_t seed,
                                          TensorList* outputs);
  std::optional<ReplayFailure> RunEager(const TensorList& inputs, uint64_t seed, TensorList* outputs);

 private:
  const Task::Impl& task_;
  Plan plan_;  // with the extra outputs
  ReplayOptions options_;
  Replayer eager_, exact_;
  Bindings tf32_state_;
  std::unique_ptr<Replayer> tf32_;                    // made when first asked for
  std::map<int, std::unique_ptr<Replayer>> ordered_;  // likewise
  std::vector<std::unique_ptr<Replayer>> wobbles_;
};

// More runs in fp64 with inputs and weights moved, numbered, unlike those of ReferenceRuns.
class MovedRuns {
 public:
  MovedRuns(const Task::Impl& task, const Deadline& deadline);
  std::optional<ReplayFailure> Setup(const Bindings& bindings);
  // Outputs of the plan. `exact_inputs` as above.
  std::optional<ReplayFailure> Run(int number, const TensorList& inputs, uint64_t seed, bool exact_inputs,
                                   TensorList* outputs);

 private:
  const Task::Impl& task_;
  const Deadline& deadline_;
  Replayer eager_;  // whose weights are moved
};

// The plan with more outputs: the tensors that index outputs point into, in order.
Plan WithIndexedOutputs(const Plan& plan, const std::vector<std::optional<IndexSource>>& sources);

}  // namespace tritogen
