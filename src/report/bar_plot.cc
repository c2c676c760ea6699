#include "report/bar_plot.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/html.h"
#include "report/svg.h"

namespace tritogen::report {
namespace {

constexpr double kRow = 24, kNames = 30, kCounts = 10;  // pixels; percent of the width left and right
constexpr double kTall = 140;

}  // namespace

std::string BarPlot(const std::string& description,
                    const std::vector<std::pair<std::string, int64_t>>& rows) {
  int64_t most = 1;
  for (const auto& [name, count] : rows) most = std::max(most, count);
  std::string elements;
  double y = 0;
  for (const auto& [name, count] : rows) {
    const double width = (100 - kNames - kCounts) * static_cast<double>(count) / static_cast<double>(most);
    elements += SvgText(kNames, y + 16, "end", "name", name, -8);
    elements += SvgRect(kNames, y + 4, std::max(width, 0.2), kRow - 8, "bar");
    elements += SvgText(kNames + width, y + 16, "start", "value", fmt::format("{}", count), 6);
    y += kRow;
  }
  return rows.empty() ? "" : SvgPlot(y + 4, description, elements);
}

std::string HistogramPlot(const std::string& description, const std::vector<Bin>& bins,
                          const std::string& axis) {
  if (bins.empty()) return "";
  int64_t most = 1;
  for (const Bin& bin : bins) most = std::max(most, bin.count);
  const double width = 100.0 / static_cast<double>(bins.size());
  const size_t every = (bins.size() + 5) / 6;
  std::string elements = SvgLine(0, kTall, 100, kTall, "grid");
  for (size_t i = 0; i < bins.size(); ++i) {
    const double height = (kTall - 4) * static_cast<double>(bins[i].count) / static_cast<double>(most);
    const double x = width * static_cast<double>(i);
    elements += SvgRect(x + 0.1 * width, kTall - height, 0.8 * width, height, "bar");
    if (i % every == 0) elements += SvgText(x, kTall + 16, "start", "tick", fmt::format("{}", bins[i].from));
  }
  elements += SvgText(100, kTall + 16, "end", "tick", fmt::format("{}", bins.back().to - 1));
  return SvgPlot(kTall + 24, description, elements) + fmt::format("<p class=\"axis\">{}</p>\n", Escape(axis));
}

}  // namespace tritogen::report
