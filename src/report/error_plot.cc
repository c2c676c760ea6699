#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "report/html.h"
#include "report/plots.h"
#include "report/svg.h"
#include "report/verdict_view.h"

namespace tritogen::report {
namespace {

using nlohmann::json;

constexpr size_t kMaxRows = 16;
constexpr double kRowHeight = 52, kTrack = 32;

struct Row {
  std::string name;
  std::optional<double> error;  // nothing: NaN or Inf where the reference has none
  double eager, budget;
  double used() const { return !error ? HUGE_VAL : budget > 0 ? *error / budget : *error > 0 ? HUGE_VAL : 0; }
};

std::vector<Row> RowsOf(const json& outputs) {
  std::vector<Row> rows;
  for (const json& output : outputs) {
    rows.push_back({fmt::format("output {}", NumberAt(output, "/output").value_or(0)),
                    NumberAt(output, "/error"), NumberAt(output, "/eager_error").value_or(0),
                    NumberAt(output, "/budget").value_or(0)});
  }
  // The outputs closest to their budgets are the ones that matter.
  if (rows.size() > kMaxRows) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.used() > b.used(); });
    rows.resize(kMaxRows);
  }
  return rows;
}

std::string Remark(const Row& row) {
  if (!row.error) return "NaN or Inf";
  if (row.budget == 0) return *row.error == 0 ? "equal, as it must be" : "must be equal";
  if (*row.error == 0) return "exact";
  const double used = row.used();
  return used > 1 ? fmt::format("{} × the budget", Number(used))
                  : fmt::format("{} % of the budget", Number(100 * used));
}

std::string DrawRow(const Row& row, const Axis& axis, double top) {
  const double y = top + kTrack;
  const bool over = row.used() > 1;
  std::string out = SvgText(0, top + 14, "start", "name", row.name);
  out += SvgText(100, top + 14, "end", over ? "value bad" : "value", Remark(row));
  if (row.budget > 0) {
    const double end = axis.Percent(row.budget);
    out += SvgRect(0, y - 7, end, 14, "allowed");
    out += SvgLine(end, y - 10, end, y + 10, "budget");
  }
  out += SvgLine(0, y, 100, y, "track");
  out += SvgCircle(axis.Percent(row.eager), y, 6.5, "eager",
                   "the eager program's own error: " + Number(row.eager));
  if (row.error) {
    out += SvgCircle(axis.Percent(*row.error), y, 5, over ? "candidate bad" : "candidate",
                     "error: " + Number(*row.error));
  }
  return out;
}

constexpr const char* kLegend =
    "<p class=\"legend\"><span class=\"key dot\"></span>candidate <span class=\"key ring\"></span>eager "
    "PyTorch "
    "<span class=\"key zone\"></span>allowed</p>\n";

}  // namespace

std::string ErrorPlot(const json& outputs) {
  const std::vector<Row> rows = RowsOf(outputs);
  double low = HUGE_VAL, high = 0;
  for (const Row& row : rows) {
    for (double value : {row.error.value_or(0), row.eager, row.budget}) {
      if (value > 0) low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (high == 0) return "";  // integers, and all of them equal
  low = std::max(low, high * 1e-20);
  // An error of zero has no place on a logarithmic axis; it is drawn a decade below the smallest.
  const Axis axis = Axis::Log(low / 5, high * 1.2);
  const double height = kRowHeight * static_cast<double>(rows.size());
  std::string elements = SvgGrid(axis, height, 6);
  for (size_t i = 0; i < rows.size(); ++i)
    elements += DrawRow(rows[i], axis, kRowHeight * static_cast<double>(i));
  std::string out = kLegend + SvgPlot(height + 24, "Error of each output against its budget", elements);
  out += "<p class=\"axis\">error against fp64, relative to the output’s largest magnitude (log scale)</p>\n";
  if (outputs.size() > rows.size())
    out += fmt::format("<p class=\"note\">The {} outputs closest to their budgets, of {}.</p>\n", rows.size(),
                       outputs.size());
  return out;
}

}  // namespace tritogen::report
