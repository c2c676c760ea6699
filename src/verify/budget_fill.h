// Fills: scores beside a mask of -1e9 are small beside the largest element of their row, and of their column.
// Magnitudes of an output that lie far above all others are judged apart from these: neither their size nor
// their noise counts for anything else.
#pragma once

#include <limits>

namespace tritogen {

inline constexpr double kLeastFill = 1000;     // what ordinary values may be is none
inline constexpr double kFillsOfLargest = 16;  // the smallest is no less than such a part: sums of masks

// From which magnitude on an output's elements are fills; infinite: there are none. `largest`: of all its
// magnitudes; `rest`: of those below a kFillsOfLargest-th of that; `gap`: how far they lie apart at the
// least.
inline double LeastFill(double largest, double rest, double gap) {
  const bool apart = largest >= kLeastFill && rest > 0 && rest * gap <= largest;
  return apart ? largest / kFillsOfLargest : std::numeric_limits<double>::infinity();
}

}  // namespace tritogen
