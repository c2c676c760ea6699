// What a program makes of results that lie far below zero, all of them (above it, where the smallest ones
// count): one that fills up blocks with 0 or -100 in the place of -Inf, or begins a maximum there, is right
// as long as some result is larger. Biases are moved for that, and weights of layers that have none. And of
// results far from zero on both sides, which is where bounds, overflowing exponentials and rows of attention
// without a large score are, behind norms, too.
#pragma once

#include <optional>

#include "verify/verifier_runs.h"
#include "verify/verifier_task.h"

namespace tritogen {

// A call each on the trials of Task::Impl::Displaced, where the task has such. REQUIRES: the candidate's
// state is bound by name; in others nobody knows what is a bias. Of an autotuned variant but the first, on
// those as generated alone.
std::optional<Objection> CheckDisplaced(const Task::Impl& task, const Plan& candidate,
                                        const ReplayOptions& options, TrialRuns* runs);

}  // namespace tritogen
