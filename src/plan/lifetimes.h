// When the tensors and storages of a Plan are born and die, so that a replay holds no more than it must.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace tritogen {

enum class Phase { kGenerate, kSetup, kRun };

const std::vector<Step>& StepsOf(const Plan& plan, Phase phase);

// Steps of a phase during which something must exist, both ends included. Birth −1: it exists before the
// first step. Death equal to the number of steps: it outlives the phase (state, outputs, what later phases
// use, the caller's arguments).
struct Lifetime {
  int birth = -2;  // −2: never in this phase
  int death = -2;
  bool Exists() const { return birth > -2; }
  bool At(int step) const { return birth <= step && step <= death; }
};

std::vector<Lifetime> TensorLifetimes(const Plan& plan, Phase phase);  // by tensor id
std::vector<Lifetime> StorageLifetimes(const Plan& plan,
                                       Phase phase);  // by storage id: from first to last of its tensors

// Bytes that a replay of the Plan holds at its worst moment, over all phases or in one; temporaries inside
// ATen calls not counted.
int64_t PeakBytes(const Plan& plan);
int64_t PeakBytes(const Plan& plan, Phase phase);

}  // namespace tritogen
