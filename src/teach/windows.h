// Reductions of windows: pools, and convolutions channel by channel.
#pragma once

#include "teach/partition.h"

namespace tritogen::teach {

inline constexpr int64_t kLongestWindow = 64;  // elements of one whose loop is written out

// The rows of a group are windows of no more than that: their elements lie between those of their
// neighbours, or at places that are worked out. A tile of rows by columns would read the same lines for each
// column, and work out the place of each of its elements. REQUIRES: group.kind is kRows.
bool AreWindows(const Graph& graph, const Group& group);

// How far apart in memory the elements of neighbouring windows lie, the furthest of what the group reads; 0
// where it cannot be told. REQUIRES: AreWindows(graph, group).
int64_t StepOfWindows(const Graph& graph, const Group& group);

// Windows of each of which no more is made than sums and the like, of floating point: they may be in tiles.
bool AreSimpleWindows(const Graph& graph, const Group& group);

}  // namespace tritogen::teach
