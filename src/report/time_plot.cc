#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html.h"
#include "report/plots.h"
#include "report/svg.h"
#include "report/verdict_view.h"

namespace tritogen::report {
namespace {

using nlohmann::json;

constexpr size_t kMaxDots = 240;
constexpr double kRowHeight = 56, kTrack = 34;
constexpr double kLogFrom = 12;  // a longer stretch than this between programs wants a logarithmic axis

struct Row {
  std::string name;
  double median, q1, q3;
  std::vector<double> samples;
};

std::vector<Row> RowsOf(const json& timing) {
  std::vector<Row> rows;
  auto add = [&](const std::string& name, const json& times) {
    const auto median = NumberAt(times, "/median_us");
    if (!median || *median <= 0) return;
    const double q1 = NumberAt(times, "/q1_us").value_or(*median),
                 q3 = NumberAt(times, "/q3_us").value_or(*median);
    Row row{name, *median, q1 > 0 ? std::min(q1, *median) : *median, std::max(q3, *median), {}};
    for (const json& sample : times.value("samples_us", json::array())) {
      if (sample.is_number() && sample.get<double>() > 0) row.samples.push_back(sample);
    }
    rows.push_back(std::move(row));
  };
  add("candidate", timing.value("candidate", json::object()));
  for (const json& baseline : timing.value("baselines", json::array()))
    add(TextIn(baseline, "name"), baseline);
  return rows;
}

// Far outliers are left to the table: an axis made for them would show nothing else.
Axis AxisFor(const std::vector<Row>& rows) {
  double low = HUGE_VAL, high = 0;
  for (const Row& row : rows) {
    low = std::min(low, row.q1);
    high = std::max(high, std::max(row.q3 + 3 * (row.q3 - row.q1), 1.05 * row.median));
  }
  return high > kLogFrom * low ? Axis::Log(low / 1.2, high) : Axis::Linear(high);
}

std::string DrawRow(const Row& row, const Axis& axis, double top, bool first) {
  const double y = top + kTrack, left = axis.Percent(row.q1), right = axis.Percent(row.q3);
  std::string out = SvgText(0, top + 14, "start", first ? "name first" : "name", row.name);
  out += SvgText(100, top + 14, "end", "value",
                 fmt::format("{} ({} – {})", Microseconds(row.median), Digits(row.q1), Digits(row.q3)));
  out += SvgLine(0, y, 100, y, "track");
  const std::string kind = first ? " first" : "";
  const size_t step = row.samples.size() / kMaxDots + 1;
  for (size_t i = 0; i < row.samples.size(); i += step) {
    const double jitter = 12 * (std::fmod(0.618034 * static_cast<double>(i), 1.0) - 0.5);
    out += SvgCircle(axis.Percent(row.samples[i]), y + jitter, 1.6, "sample" + kind);
  }
  out += SvgRect(left, y - 9, right - left, 18, "box" + kind);
  const double middle = axis.Percent(row.median);
  return out + SvgLine(middle, y - 11, middle, y + 11, "median" + kind);
}

}  // namespace

std::string TimePlot(const json& timing) {
  const std::vector<Row> rows = RowsOf(timing);
  if (rows.empty()) return "";
  const Axis axis = AxisFor(rows);
  const double height = kRowHeight * static_cast<double>(rows.size());
  std::string elements = SvgGrid(axis, height, 5);
  for (size_t i = 0; i < rows.size(); ++i)
    elements += DrawRow(rows[i], axis, kRowHeight * static_cast<double>(i), i == 0);
  return SvgPlot(height + 24, "Time of the candidate and of the baselines", elements) +
         fmt::format(
             "<p class=\"axis\">microseconds a call{}; line: median, box: middle half of the samples</p>\n",
             axis.low() > 0 ? " (log scale)" : "");
}

}  // namespace tritogen::report
