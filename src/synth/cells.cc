#include "synth/cells.h"

#include <algorithm>

namespace tritogen::synth {

Cells CoarseCells(const Domain& domain) {
  Cells cells;
  for (const Domain::Range& range : domain.ranges()) {
    for (int64_t low = range.low; low <= range.high;) {
      const int64_t high = std::min(range.high, std::max(low, low * 35 / 32));
      cells.push_back({low, high});
      low = high + 1;
    }
  }
  return cells;
}

}  // namespace tritogen::synth
