#include "plan/plan.h"

namespace tritogen {

int64_t TensorMeta::numel() const {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

}  // namespace tritogen
