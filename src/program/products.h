// The products of a program's sizes that strides, element counts and grids are made of.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "program/program.h"

namespace tritogen {

// Of one shape with at least two dimensions: the products of its last dimensions, all of them first, and of
// its first ones, two first and never all. [4, 48, 5]: last 960, 240; first 192. Beyond 2^63 they wrap
// around: no tensor is that large.
struct ShapeProducts {
  std::vector<int64_t> sizes;
  std::vector<uint64_t> last, first;
};

// Each shape of the program once, in order of appearance.
std::vector<ShapeProducts> ProductsOf(const Program& program);

// Every size of the program's tensors and every product above: numbers that need not be computed by a reader
// who has them before his eyes, as a policy that is asked with SizesText (text/prompt.h).
std::set<int64_t> KnownNumbers(const Program& program);

}  // namespace tritogen
