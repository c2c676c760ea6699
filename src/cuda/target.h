// What a kernel is compiled for. Needs no GPU and no driver: compiling happens anywhere.
#pragma once

#include <cstdint>
#include <string>

namespace tritogen::cuda {

struct Target {
  int capability = 90;  // 10 × major + minor
  int warp_size = 32;
  int64_t shared_bytes = 232448;  // shared memory that one block may have (opt-in limit)

  bool operator==(const Target&) const = default;
};

// The target for a capability where no GPU can be asked; shared memory as in the CUDA programming guide's
// table. Throws UserError for capabilities below 80, which nothing here supports.
Target TargetForCapability(int capability);

}  // namespace tritogen::cuda
