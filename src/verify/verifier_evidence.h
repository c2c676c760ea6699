// Findings in words and numbers that a person can act on.
#pragma once

#include "verify/verifier_task.h"

namespace tritogen {

// A replay of the candidate that ended early.
Objection ObjectionOf(const ReplayFailure& failure);

// `comparison` failed: where, expected and got, and whether it is a precision downgrade (rules "tf32",
// "half").
Objection WrongValues(const Task::Impl& task, const Plan& candidate, size_t output, const Trial& trial,
                      const Comparison& comparison);

// Of a wrong answer on a GPU, which this process still has: whether the compiler is known to make such code
// (cuda/known_faults.h); empty otherwise.
std::string NoteOfCompiler(const Plan& candidate);

// An output that was right once and wrong once; `wrong`: that time.
Objection Unsteady(size_t output, const Trial& trial, const Objection& wrong);

}  // namespace tritogen
