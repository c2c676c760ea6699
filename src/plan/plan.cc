#include "plan/plan.h"

#include <algorithm>
#include <utility>

namespace tritogen {

int64_t TensorMeta::numel() const {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

bool TensorMeta::HoldsEachElement() const {
  if (numel() == 0) return true;
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1) dims.emplace_back(strides[i], sizes[i]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;  // of the dimensions so far
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return false;
    reach += stride * (size - 1);
  }
  return true;
}

}  // namespace tritogen
