// A sketch's system in words, with the number of its solutions.
#pragma once

#include <cstdint>
#include <string>

#include "synth/shapes.h"
#include "synth/sketch.h"
#include "synth/solver.h"

namespace tritogen::synth {

// Steps, variables, constraints, number of solutions. `seed` is of the draws that an estimate needs.
std::string Explain(const Sketch& sketch, const ShapeOptions& shapes, uint64_t seed);

// The share of a superset's members that meet a system's constraints, from draws: Wilson's interval of 95 %.
struct Share {
  double low, high;
  int64_t draws;
};
Share EstimateShare(const Space& space, const System& system, int draws, SplitMix* random);

}  // namespace tritogen::synth
