// Kernels as the tile machine runs them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tile/tile.h"

namespace tritogen {

// Lowered kernels by TTIR text, shared by all replays of a process. Thread-safe.
class LoweredKernels {
 public:
  std::shared_ptr<const tile::Executable> Get(const std::string& ttir);  // throws tile::TtirError
  // By parameter of the TTIR function: may the kernel write what it points at?
  std::vector<bool> Writes(const std::string& ttir);
  static LoweredKernels& Global();

 private:
  struct Impl;
  LoweredKernels();
  std::shared_ptr<Impl> impl_;
};

}  // namespace tritogen
