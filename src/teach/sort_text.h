// The text by which kernels sort lines.
#pragma once

#include <string>

#include "teach/graph.h"

namespace tritogen::teach {

// Lines from here on sort their keys of int64 by 32 bits. Shorter ones lie in a warp, where Triton fetches
// from places that it does not know before by a shuffle for each register.
inline constexpr int64_t kShortestCoarse = 1024;

// A tile in the registers of a program; its lines are its rows, of a power of two.
struct SortTile {
  int64_t rows, columns;
  int num_warps;
  bool across;  // rows, not columns, are neighbours in memory
};

// The rows of `keys`, int32 or int64, in order. Keys of int64 are told apart by their upper halves first:
// they are best where these say how elements compare.
std::string SortedText(const std::string& keys, Dtype dtype, const SortTile& tile);

// The functions that kernels of this text call for that, decorated.
std::string SortFunctions(const std::string& kernels);

}  // namespace tritogen::teach
