// Reductions of windows: pools, and convolutions channel by channel.
#pragma once

#include <string_view>

#include "teach/partition.h"

namespace tritogen::teach {

// Elements of a window that is taken element by element: of any, whose loop is written out, and of so many
// windows that multiprocessors have enough of them at a time.
inline constexpr int64_t kLongestWindow = 64, kLongestOfManyWindows = 128;

// The rows of a group are windows of no more than that: their elements lie between those of their
// neighbours, or at places that are worked out. A tile of rows by columns would read the same lines for each
// column, and work out the place of each of its elements. REQUIRES: group.kind is kRows.
bool AreWindows(const Graph& graph, const Group& group);

// What the loop over a window's elements begins with. Five windows of 121 elements written out would take the
// compiler more than a minute.
std::string_view LoopOverWindow(int64_t elements);

// How far apart in memory the elements of neighbouring windows lie, the furthest of what the group reads; 0
// where it cannot be told. REQUIRES: AreWindows(graph, group).
int64_t StepOfWindows(const Graph& graph, const Group& group);

// Windows of each of which no more is made than sums and the like, of floating point, none of which waits for
// another one: they may be in tiles.
bool AreSimpleWindows(const Graph& graph, const Group& group);

}  // namespace tritogen::teach
