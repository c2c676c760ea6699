// Pools in passes: what is taken of a window over several dimensions is taken over some of them first, and of
// the results over the others. Elements that many windows share are then read less often, for an intermediate
// result that is written and read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tritogen::teach {

// Windows along one dimension.
struct Windows {
  int64_t count, longest;  // how many, elements of the longest one
  int64_t input;           // size of the dimension
  int64_t stride = 1, padding = 0, dilation = 1;
  bool adaptive = false;
  bool inside = false;  // every window lies in the dimension and has `longest` elements
  // Between the starts of neighbours, about.
  int64_t Step() const { return adaptive ? input / count : stride; }
};

// Each element by itself.
inline Windows SingleElements(int64_t size) {
  Windows single{size, 1, size};
  single.inside = true;
  return single;
}

// Spatial dimensions that are joined at once: [first, last).
struct PoolPass {
  size_t first, last;
  bool Joins(size_t dim) const { return first <= dim && dim < last; }
};

// In order. `windows` by spatial dimension, of each of so many images.
std::vector<PoolPass> CheapestPasses(const std::vector<Windows>& windows, int64_t images);

}  // namespace tritogen::teach
