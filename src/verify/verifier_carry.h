// What a call leaves behind for later ones, in state and in memory that set-up made.
#pragma once

#include <optional>
#include <vector>

#include "verify/verifier_task.h"

namespace tritogen {

// `changed`: what a call of the candidate left with other contents (Replayer::Changed). Rules:
//   state_mutated  it belongs to state that the reference has too, and leaves alone;
//   carried_state  it is the candidate's own, and something in a call reads what was there before the
//                  call, so that call N may be another program than call 1.
// Fine are a workspace that is written before it is read, memory that each call leaves as it found it (a
// counter that goes back to zero), and state that the reference updates as well (running statistics).
std::optional<Objection> CheckCarried(const Task::Impl& task, const Bindings& bindings, const Trial& trial,
                                      const Plan& candidate, const std::vector<TensorId>& changed,
                                      ReplayOptions options);

}  // namespace tritogen
