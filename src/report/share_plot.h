// Shares with how sure they are: a bar from 0 to 100% a row, and a whisker over the interval.
#pragma once

#include <string>
#include <vector>

namespace tritogen::report {

struct Share {
  std::string name;
  double value = 0, low = 0, high = 1;  // of [0, 1]
};

// Empty without rows.
std::string SharePlot(const std::string& description, const std::vector<Share>& rows);

}  // namespace tritogen::report
