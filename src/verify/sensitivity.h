// Sensitivity: every input and parameter that reaches the reference's output must reach the candidate's.
#pragma once

#include <optional>

#include "verify/rules.h"
#include "verify/verifier_task.h"

namespace tritogen {

// Finds the inputs and state entries of the task that its trials can see: redrawing one of them alone, in
// fp64, breaks the budget of some trial. So a candidate that ignores one fails that trial. Fills
// sensitive_inputs and sensitive_state, and notes what reaches an output without being seen, and what there
// was no time to measure.
void FindSensitive(const Deadline& deadline, Task::Impl* task);

// From the candidate's Plan alone: the first sensitive input or parameter that cannot reach any of its
// outputs. Buffers are let off: a mask or a table that is made anew is often still registered.
std::optional<Objection> CheckReach(const Task::Impl& task, const Plan& candidate, const Flow& flow);

// A sensitive buffer that the candidate, whose state is bound by name, does not have or does not read: a
// constant to it. No fault, but a state dict may hold others. Empty: none.
std::string NoteOfConstants(const Task::Impl& task, const Plan& candidate, const Flow& flow);

bool IsRunningVariance(const StateEntry& entry);

// Values under which an affine parameter or a running statistic matters; nothing for state that already does.
// `some_tiny`: of a running variance some are next to nothing, as of channels that hardly ever differ, and
// the epsilon beside them counts.
std::optional<at::Tensor> NonNeutral(const StateEntry& entry, const at::Tensor& value, uint64_t seed,
                                     bool some_tiny);

// What calls of forward ask of an entry that they are given as it is: whether it is negative (abs, relu), or
// 0 (sign); and how large its rows are (norms), of those that are looked up, too.
struct WeightAsked {
  bool negative = false, zero = false, size = false;
};
WeightAsked AskedOfWeight(const Plan& plan, const StateEntry& entry);

// A parameter with nothing left of how the constructor `made` it, from its `value` by NonNeutral: what is
// drawn there is orthogonal, triangular, sorted, of rows as long as another parameter says or equal to
// another one, and a program that takes this for granted is wrong after the first step of training. Elements
// are scaled and, unless `mild`, moved to other places and given random signs, but where different positive
// numbers were drawn and forward does not ask for signs; rows that it asks the size of get others. Nothing
// for what is no floating parameter.
std::optional<at::Tensor> AsIfTrained(const StateEntry& entry, const at::Tensor& made,
                                      const at::Tensor& value, const WeightAsked& asked, bool mild,
                                      uint64_t seed);

}  // namespace tritogen
