// Sizes of a large domain in cells, so that tables list cells in place of sizes.
#pragma once

#include <vector>

#include "synth/domain.h"

namespace tritogen::synth {

using Cells = std::vector<Domain::Range>;  // ascending, disjoint

// Of about an eighth of an octave; small values stand alone.
Cells CoarseCells(const Domain& domain);

}  // namespace tritogen::synth
