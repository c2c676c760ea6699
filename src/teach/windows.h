// Reductions of windows: pools, and convolutions channel by channel.
#pragma once

#include <string_view>

#include "teach/partition.h"

namespace tritogen::teach {

// Elements of a window that is taken element by element, in a loop that is written out.
inline constexpr int64_t kLongestWindow = 64;

// The rows of a group are windows that are taken element by element: of no more than that, or of more where
// there are so many of them that multiprocessors have enough. Their elements lie between those of their
// neighbours, or at places that are worked out. A tile of rows by columns would read the same lines for each
// column, and work out the place of each of its elements. REQUIRES: group.kind is kRows.
bool AreWindows(const Graph& graph, const Group& group);

// How a window's elements are taken: all in one loop that is written out; or, of more, in a loop over the
// window's lines and one over the elements of a line, which are its last dimensions, of which only that is
// written out (five windows of 121 elements would take the compiler more than a minute); or, where its last
// dimension is too long for that, in one that is not.
struct WindowLoop {
  int64_t line = 0;  // elements of a line; 0: one loop
  bool written_out = true;
};
WindowLoop LoopOverWindow(const Group& group);

// How far apart in memory the elements of neighbouring windows lie, the furthest of what the group reads; 0
// where it cannot be told. REQUIRES: AreWindows(graph, group).
int64_t StepOfWindows(const Graph& graph, const Group& group);

// Windows of each of which no more is made than sums and the like, of floating point, none of which waits for
// another one: they may be in tiles.
bool AreSimpleWindows(const Graph& graph, const Group& group);

}  // namespace tritogen::teach
