#include "teach/pool_passes.h"

#include <algorithm>

#include "teach/graph.h"
#include "teach/windows.h"

namespace tritogen::teach {
namespace {

// Costs are in loads that find their element in L1, as loops that are written out make them for neighbouring
// windows: about 3 a picosecond on an H100. An element that is read from memory, or written there, costs four
// of them, and a pass takes as long as the longer of loads and memory. That tells the times of pools in
// docs/log/2026-11-27-windows.md within a quarter, so a split must promise to save that.
constexpr double kElementOfMemory = 4, kWorthIt = 0.75;
// Of windows so many elements apart a warp's load touches so many times the sectors, at most one for each.
constexpr int64_t kElementsOfSector = 8;
// Of windows that are longer than loops are written out a program has few, each element at a place that is
// worked out. A guess, from times beside those of eager PyTorch: up to 7 loads.
constexpr double kLoadOfLongWindow = 7;
constexpr double kLaunch = kElementOfMemory * kBytesOfLaunch / sizeof(float);

double LoadsOfWindow(const std::vector<Windows>& windows, const PoolPass& pass) {
  int64_t elements = 1;
  for (size_t dim = pass.first; dim < pass.last; ++dim) elements *= windows[dim].longest;
  if (elements > kLongestWindow) return kLoadOfLongWindow * static_cast<double>(elements);
  // Those side by side are windows along the last dimension, if it is joined.
  const int64_t step = pass.last == windows.size() ? std::min(windows.back().Step(), kElementsOfSector) : 1;
  return static_cast<double>(elements * (1 + step)) / 2;  // the other half of a load is its instructions
}

double CostOf(const std::vector<Windows>& windows, const std::vector<PoolPass>& passes, int64_t images) {
  double cost = 0, read = static_cast<double>(images);
  for (const Windows& w : windows) read *= static_cast<double>(w.input);
  for (const PoolPass& pass : passes) {
    double made = read;
    for (size_t dim = pass.first; dim < pass.last; ++dim)
      made *= static_cast<double>(windows[dim].count) / static_cast<double>(windows[dim].input);
    cost += std::max(made * LoadsOfWindow(windows, pass), kElementOfMemory * (read + made)) + kLaunch;
    read = made;
  }
  return cost;
}

// Cut behind each dimension whose bit is set.
std::vector<PoolPass> CutInPasses(size_t dims, unsigned cuts, bool innermost_first) {
  std::vector<PoolPass> passes = {{0, 1}};
  for (size_t dim = 1; dim < dims; ++dim) {
    if ((cuts >> (dim - 1) & 1) != 0) passes.push_back({dim, dim});
    passes.back().last = dim + 1;
  }
  if (innermost_first) std::ranges::reverse(passes);
  return passes;
}

}  // namespace

std::vector<PoolPass> CheapestPasses(const std::vector<Windows>& windows, int64_t images) {
  std::vector<PoolPass> cheapest = {{0, windows.size()}};
  double least = kWorthIt * CostOf(windows, cheapest, images);
  for (unsigned cuts = 1; cuts < 1u << (windows.size() - 1); ++cuts) {
    for (const bool innermost_first : {true, false}) {
      const std::vector<PoolPass> passes = CutInPasses(windows.size(), cuts, innermost_first);
      const double cost = CostOf(windows, passes, images);
      if (cost < least) cheapest = passes, least = cost;
    }
  }
  return cheapest;
}

}  // namespace tritogen::teach
