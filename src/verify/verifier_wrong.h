// What is behind a wrong answer.
#pragma once

#include "verify/verifier_task.h"

namespace tritogen {

struct WrongAnswer {
  const Trial* trial;
  const TensorList* outputs;
  const Objection* objection;  // wrong_values
  bool unwatched;              // that run had Unwatched options
};

// The objection itself, or a better one: lanes of the candidate's kernels do not wait for each other
// (memory_error), or another order of programs changes the answer, as with races and memory that nobody wrote
// (nondeterministic). `options`: of a watched run, with the time that is left.
Objection WhyWrong(const Task::Impl& task, const Plan& candidate, const Bindings& bindings,
                   const WrongAnswer& answer, ReplayOptions options);

}  // namespace tritogen
