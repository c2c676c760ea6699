// Sizes of a large domain in cells, so that tables list cells in place of sizes.
#pragma once

#include <optional>
#include <vector>

#include "synth/reduce.h"

namespace tritogen::synth {

using Cells = std::vector<Domain::Range>;  // ascending, disjoint

// Of about an eighth of an octave; small values stand alone.
Cells CoarseCells(const Domain& domain);

// Cells of values that are alike for every bound: each bound holds for all of a cell or for none, whatever
// the other variables are. Nothing where other variables of those bounds are not listed, or cells would be
// too many. REQUIRES: only bounds speak of the variable.
std::optional<Cells> AlikeCells(const Component& component, Var var);

}  // namespace tritogen::synth
