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

// What a product makes, and its tiles.
struct TiledProduct {
  int64_t batch, m, n, block_m, block_n;
};

// What the tiles make of their rows, or with `along_m` of their columns, for such a reduction: not rounded
// before it is joined. Its operands and their dtypes are to be filled in.
Prim TileReduction(const Prim& reduce, const TiledProduct& tile, bool along_m);

// `reduced`, which `graph` was turned into, and what its work goes into, where each reduction in tiles is
// made by its product, or its rows, in the tiles that were planned, and fewer bytes are moved; so many read
// less, of which the graphs say nothing.
std::optional<Partitioned> InTheirTiles(Graph reduced, const Graph& graph, const std::vector<Group>& groups,
                                        const KernelOptions& options, bool turns, int64_t read_less = 0);

// Whether the group is a product that makes such reductions.
bool HasTileReductions(const Graph& graph, const Group& group);

}  // namespace tritogen::teach
