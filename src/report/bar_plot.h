// Bars: counts by name, and histograms.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tritogen::report {

// One horizontal bar a row, name on its left, count behind it.
std::string BarPlot(const std::string& description, const std::vector<std::pair<std::string, int64_t>>& rows);

struct Bin {
  int64_t from, to, count;
};
// Upright bars, side by side. Bins lie side by side, too; `axis` says what is counted.
std::string HistogramPlot(const std::string& description, const std::vector<Bin>& bins,
                          const std::string& axis);

}  // namespace tritogen::report
