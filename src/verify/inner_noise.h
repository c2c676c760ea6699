// What honest programs round where moved inputs show nothing: statistics of values that were computed, or of
// copies of one value, hang on the last places of these; scores of attention are rounded as numbers of their
// size, whatever the terms are that they are sums of; running sums and products are associated otherwise, so
// that they need not rise where the eager program's do; and exponentials of equal numbers are off alike,
// of constants, too.
#pragma once

#include <cstdint>
#include <vector>

#include "verify/replay.h"

namespace tritogen {

// At what norms and variances of forward are given, but for inputs and state, whose elements move anyway (not
// by themselves where expand shows one often); at the keys of attention; at results of scans, of what passes
// one (MovesNearOne), of norms, whose numbers near one a bias may cancel, and of exponentials. Of float32
// alone.
// `sums`: at the terms of sums and means, too.
std::vector<Probe> InnerProbes(const Plan& plan, bool sums = false);

// Of a function whose small values honest programs make as differences of numbers near one, or sums.
bool MovesNearOne(const Probe& probe);
// The result of an exponential.
bool MovesExponential(const Probe& probe);

// Moves each by at most half a unit in its last place, keys all numbers of one alike: so do all scores that
// it takes part in. Terms of a sum are moved by as much again, all of one sum alike; numbers of a statistic
// by a few units more, neighbours alike; results by roundings of one, those of scans by a few of their own,
// those of exponentials and powers by a unit all alike, and by one more each by itself.
// `probes`: with what they saw in a run. `rounded_only`: nothing that float32 holds, where inputs are exact
// and some numbers are what they are in every program.
void MoveInside(uint64_t seed, bool rounded_only, std::vector<Probe>* probes);

}  // namespace tritogen
