// The tiles that a product's result is made in.
#pragma once

#include <cstdint>

#include "base/rounding.h"
#include "teach/kernel.h"

namespace tritogen::teach {

struct ProductTiles {
  int64_t batch, m, n, k;
  int64_t block_m = 0, block_n = 0, block_k = 0;
  int64_t sum = 0;  // columns that are added up before they are added to others; k: all
  int num_warps = 0, num_stages = 3;
  int64_t programs = 0;  // that take tiles in turn; 0: a program for each

  int64_t Count() const { return batch * CeilDiv(m, block_m) * CeilDiv(n, block_n); }
  double Products() const {
    return static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
  }
};

// For the product that the group begins with.
ProductTiles ChooseTiles(const Graph& graph, const Group& group, const KernelOptions& options);

// Of float32, multiplied by dots as they are, not as parts.
bool MultipliesFloat32(const Prim& product);

// Of these dots. Three of TF32 err no more than float32's own sums (Triton's tf32x3), and take half of the
// time.
std::string DotPrecision(const Prim& product, const KernelOptions& options);

}  // namespace tritogen::teach
