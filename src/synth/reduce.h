// First step of counting: equal variables become one, constants are folded in, constraints that always hold
// are dropped, derived variables get the values that they can have, and the rest falls into components that
// share no variable. Every step keeps the set of solutions as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "synth/system.h"

namespace tritogen::synth {

// One independent part of a system, with variables of its own, numbered from 0 in the order in which its
// constraints name them: equal parts of unlike systems become equal.
struct Component {
  std::vector<Domain> domains;  // by local variable
  std::vector<Constraint> constraints;
  std::vector<int> classes;  // by local variable: its class in the system
};

struct Reduced {
  bool impossible = false;  // no solution; the rest is empty then
  // By variable of the system: the variable that stands for it; its value where it can have but one, or −1.
  std::vector<int> class_of;
  std::vector<int64_t> fixed;
  std::vector<Component> components;
};

Reduced Reduce(const System& system);

}  // namespace tritogen::synth
