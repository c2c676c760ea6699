#include "report/data_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/bar_plot.h"
#include "report/document.h"
#include "report/html.h"
#include "report/json_read.h"
#include "report/table.h"

namespace tritogen {
namespace report {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::pair<std::string, int64_t>>;

constexpr size_t kMostBars = 40;

std::string Percent(int64_t part, int64_t whole) {
  return whole > 0 ? Number(100 * static_cast<double>(part) / static_cast<double>(whole)) + " %" : "–";
}

Rows RowsOf(const Json& counts, bool largest_first) {
  Rows rows;
  for (const auto& [key, value] : counts.items()) {
    if (value.is_number_integer()) rows.emplace_back(key, value.get<int64_t>());
  }
  if (largest_first)
    std::stable_sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return a.second > b.second; });
  return rows;
}

std::string Figures(const Json& stats) {
  const Json& tally = In(stats, "tally");
  const int64_t answers = CountOf(tally, "answers"), programs = CountOf(tally, "programs");
  std::string out = Figure("Records", fmt::format("{}", CountOf(stats, "records")),
                           fmt::format("of {} programs drawn", programs));
  out += Figure("Answered", Percent(CountOf(tally, "answered"), programs), "of the programs");
  out += Figure("Passed", Percent(CountOf(tally, "passed"), answers),
                fmt::format("of {} answers judged", answers));
  out += Figure("Split", fmt::format("{}", CountOf(In(stats, "splits"), "test")), "records on the test side");
  out += Figure("Size", WithPrefix(static_cast<double>(CountOf(stats, "bytes"))) + "B",
                fmt::format("in {} shards", CountOf(stats, "shards")));
  return "<dl class=\"figures\">\n" + out + "</dl>\n";
}

std::string Operators(const Json& stats) {
  Rows rows = RowsOf(In(stats, "operators"), true);
  std::string rest;
  if (rows.size() > kMostBars) {
    Table table({"operator", "records"}, 1);
    for (size_t i = kMostBars; i < rows.size(); ++i)
      table.Row({rows[i].first, fmt::format("{}", rows[i].second)});
    rest = fmt::format("<details><summary>{} more</summary>\n{}</details>\n", rows.size() - kMostBars,
                       table.Html());
    rows.resize(kMostBars);
  }
  return BarPlot("Records by operator", rows) + rest;
}

std::string Lengths(const Json& stats) {
  Table table({"text", "least", "quarter", "median", "three quarters", "most", "mean"}, 1);
  std::string plots;
  for (const auto& [name, lengths] : In(stats, "lengths").items()) {
    const std::string unit = name == "source_tokens" ? "Python tokens" : "bytes";
    const std::string words = name == "source_tokens" ? "source" : name;
    std::vector<std::string> cells = {words + ", " + unit};
    for (const char* key : {"least", "q1", "median", "q3", "most"})
      cells.push_back(fmt::format("{}", CountOf(lengths, key)));
    const Json& mean = In(lengths, "mean");
    cells.push_back(mean.is_number() ? fmt::format("{:.0f}", mean.get<double>()) : "–");
    table.Row(cells);
    std::vector<Bin> bins;
    for (const Json& bin : In(lengths, "histogram")) {
      if (bin.is_array() && bin.size() == 3 && bin[0].is_number_integer() && bin[1].is_number_integer() &&
          bin[2].is_number_integer())
        bins.push_back({bin[0], bin[1], bin[2]});
    }
    plots += HistogramPlot("Lengths of " + words, bins,
                           fmt::format("{} of {}; the last bar has all that are longer", unit, words));
  }
  return plots.empty() ? "" : table.Html() + plots;
}

std::string Elements(const Json& stats) {
  Rows rows;
  for (const auto& [power, count] : RowsOf(In(stats, "elements"), false))
    rows.emplace_back("from 2^" + power, count);
  std::string out = BarPlot("Records by elements of the largest tensor", rows);
  Rows ranks;
  for (const auto& [rank, count] : RowsOf(In(stats, "ranks"), false))
    ranks.emplace_back(rank + (rank == "1" ? " dimension" : " dimensions"), count);
  if (!ranks.empty())
    out += "<p class=\"axis\">records by elements of their largest tensor</p>\n" +
           BarPlot("Inputs by dimensions", ranks) + "<p class=\"axis\">inputs by dimensions</p>\n";
  return out;
}

std::string Dropped(const Json& stats) {
  const Json& tally = In(stats, "tally");
  Table table({"reason", "count"}, 1);
  Rows rows = RowsOf(In(tally, "dropped"), true);
  for (const auto& [reason, count] : rows) {
    table.Row({reason, fmt::format("{}", count)});
    const Json& example = In(In(tally, "examples"), reason);
    if (example.is_string()) table.Remark("such as " + example.get<std::string>());
  }
  return rows.empty() ? "" : table.Html();
}

// A row a key, a column an outcome: answers by what became of them.
std::string Outcomes(const Json& table_of, const std::string& title) {
  std::set<std::string> outcomes;
  for (const auto& [key, counts] : table_of.items()) {
    for (const auto& [outcome, count] : counts.items()) outcomes.insert(outcome);
  }
  if (outcomes.empty()) return "";
  std::vector<std::string> titles = {title};
  if (outcomes.erase("passed")) titles.push_back("passed");
  titles.insert(titles.end(), outcomes.begin(), outcomes.end());
  Table table(titles, 1);
  for (const auto& [key, counts] : table_of.items()) {
    std::vector<std::string> cells = {key};
    for (size_t i = 1; i < titles.size(); ++i) {
      const int64_t count = CountOf(counts, titles[i]);
      cells.push_back(count > 0 ? fmt::format("{}", count) : "");
    }
    table.Row(cells);
  }
  return table.Html();
}

std::string OutcomesSection(const Json& stats) {
  const Json& tally = In(stats, "tally");
  const std::string levels = Outcomes(In(tally, "levels"), "level");
  const std::string operators = Outcomes(In(tally, "operators"), "operator");
  return levels.empty() ? ""
                        : levels +
                              "<details><summary>by operator: an answer counts for each operator of its "
                              "program</summary>\n" +
                              operators + "</details>\n";
}

std::string Origin(const Json& stats, const std::vector<std::string>& versions) {
  const std::string set = In(stats, "set").is_string() ? In(stats, "set").get<std::string>() : "";
  return "<dl class=\"facts\">\n" + Fact("Set", "<code>" + Escape(set) + "</code>") + VersionsFact(versions) +
         "</dl>\n";
}

}  // namespace
}  // namespace report

std::string RenderDataReport(const std::string& name, const nlohmann::ordered_json& stats,
                             const std::vector<std::string>& versions) {
  using namespace report;
  const std::string header =
      fmt::format("<header>\n<p class=\"over\">Tritogen data</p>\n<h1>{}</h1>\n</header>\n", Escape(name));
  return Document(
      name + " – Tritogen data",
      header + Figures(stats) + Section("Answers by outcome", OutcomesSection(stats)) +
          Section("What was left out", Dropped(stats)) +
          Section("Levels", BarPlot("Records by level", RowsOf(In(stats, "levels"), false))) +
          Section("Operators", Operators(stats)) +
          Section("Strategies", BarPlot("Records by strategy", RowsOf(In(stats, "strategies"), true))) +
          Section("Sizes", Elements(stats)) + Section("Lengths", Lengths(stats)) +
          Section("Origin", Origin(stats, versions)));
}

}  // namespace tritogen
