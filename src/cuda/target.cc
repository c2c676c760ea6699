#include "cuda/target.h"

#include "base/error.h"

namespace tritogen::cuda {

Target TargetForCapability(int capability) {
  constexpr int64_t kKiB = 1024;
  switch (capability) {
    case 80:
    case 87:
      return {capability, 32, 163 * kKiB};
    case 86:
    case 89:
    case 120:
    case 121:
      return {capability, 32, 99 * kKiB};
    case 90:
    case 100:
    case 103:
    case 110:
      return {capability, 32, 227 * kKiB};
    default:
      throw UserError(fmt::format("no GPU of compute capability {}.{} is supported; 8.0 is the least",
                                  capability / 10, capability % 10));
  }
}

}  // namespace tritogen::cuda
