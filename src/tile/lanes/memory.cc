#include "tile/lanes/memory.h"

#include "base/error.h"

namespace tritogen::tile::lanes {

namespace generic {
extern const MemoryKernels kMemory;
}
namespace avx2 {
extern const MemoryKernels kMemory;
}
namespace avx512 {
extern const MemoryKernels kMemory;
}

const MemoryKernels& Memory(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return avx512::kMemory;
  if (isa == Isa::kAvx2) return avx2::kMemory;
#endif
  return generic::kMemory;
}

}  // namespace tritogen::tile::lanes
