// Means and spreads of a product's result, by channel or feature, are made in the product's tiles: each
// stores the sum of its rows or columns and their squared distances from the tile's own mean, and the kernel
// behind joins those of all tiles (Chan, Golub and LeVeque 1983). The result is read once, where it is
// normalised.
#pragma once

#include <optional>

#include "teach/kernel.h"

namespace tritogen::teach {

// The graph with such moments, and what its work goes into; nothing where there are none, or more would be
// read and written. `groups`: of Partition. The tiles are those that products get with these options.
std::optional<Partitioned> MomentsInTiles(const Graph& graph, const std::vector<Group>& groups,
                                          const KernelOptions& options, bool turns);

}  // namespace tritogen::teach
