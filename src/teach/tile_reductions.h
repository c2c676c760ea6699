// What a product's result is only reduced to is reduced in the product's tiles: each stores one value for
// each of its rows or columns, and a reduction joins those of all tiles. The result itself is not stored.
#pragma once

#include <optional>

#include "teach/kernel.h"

namespace tritogen::teach {

// The graph with such reductions, and what its work goes into; nothing where there are none, or more would be
// read and written. `groups`: of Partition. The tiles are those that products get with these options.
std::optional<Partitioned> ReduceInTiles(const Graph& graph, const std::vector<Group>& groups,
                                         const KernelOptions& options, bool turns);

// Whether each reduction in tiles is made by its product, in the tiles that were planned.
bool AreInProducts(const Graph& graph, const std::vector<Group>& groups, const KernelOptions& options);

// Whether the group is a product that makes such reductions.
bool HasTileReductions(const Graph& graph, const Group& group);

}  // namespace tritogen::teach
