#include "report/share_plot.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/svg.h"

namespace tritogen::report {
namespace {

constexpr double kRow = 24, kNames = 30, kCounts = 12;  // pixels; percent of the width left and right

double At(double share) {
  return kNames + (100 - kNames - kCounts) * std::clamp(share, 0.0, 1.0);
}

}  // namespace

std::string SharePlot(const std::string& description, const std::vector<Share>& rows) {
  if (rows.empty()) return "";
  const double height = kRow * static_cast<double>(rows.size());
  std::string elements;
  for (const int percent : {0, 25, 50, 75, 100}) {
    elements += SvgLine(At(percent / 100.0), 0, At(percent / 100.0), height, "grid");
    elements += SvgText(At(percent / 100.0), height + 16, "middle", "tick", fmt::format("{} %", percent));
  }
  double y = 0;
  for (const Share& row : rows) {
    elements += SvgText(kNames, y + 16, "end", "name", row.name, -8);
    elements += SvgRect(kNames, y + 5, std::max(At(row.value) - kNames, 0.2), kRow - 10, "box first");
    elements += SvgLine(At(row.low), y + kRow / 2, At(row.high), y + kRow / 2, "whisker");
    for (const double end : {row.low, row.high})
      elements += SvgLine(At(end), y + 8, At(end), y + kRow - 8, "whisker");
    elements += SvgText(100, y + 16, "end", "value", fmt::format("{:.1f} %", 100 * row.value));
    y += kRow;
  }
  return SvgPlot(height + 24, description, elements);
}

}  // namespace tritogen::report
