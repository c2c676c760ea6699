#include "report/eval_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/bar_plot.h"
#include "report/document.h"
#include "report/html.h"
#include "report/json_read.h"
#include "report/share_plot.h"
#include "report/table.h"

namespace tritogen {
namespace report {
namespace {

using Json = nlohmann::ordered_json;

std::string Percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

// "97.2 % (96.1–98.0)"
std::string WithInterval(const Json& estimate) {
  if (CountOf(estimate, "tasks") == 0) return "–";
  return fmt::format("{} ({:.1f}–{:.1f})", Percent(NumberOf(estimate, "value")),
                     100 * NumberOf(estimate, "low"), 100 * NumberOf(estimate, "high"));
}

Share ShareOf(const std::string& name, const Json& estimate) {
  return {name, NumberOf(estimate, "value"), NumberOf(estimate, "low"), NumberOf(estimate, "high")};
}

// pass@1 and the greatest k of a cell.
std::pair<std::string, std::string> EndsOf(const Json& cell) {
  const Json& pass = In(cell, "pass");
  std::string last = "1";
  for (const auto& [k, estimate] : pass.items()) last = k;
  return {"1", last};
}

std::string Figures(const Json& of) {
  const Json& all = In(of, "all");
  const auto [first, last] = EndsOf(all);
  const Json& pass = In(all, "pass");
  std::string out = Figure("pass@1", Percent(NumberOf(In(pass, first), "value")),
                           fmt::format("of {} tasks", CountOf(all, "tasks")));
  if (last != first)
    out += Figure("pass@" + last, Percent(NumberOf(In(pass, last), "value")),
                  fmt::format("{} answers", CountOf(all, "answers")));
  const Json& plans = In(all, "plans");
  out += Figure("Strategies", Digits(NumberOf(plans, "mean")),
                fmt::format("distinct plans a solved task; {} of tasks have several",
                            Percent(NumberOf(In(plans, "several"), "value"))));
  if (all.contains("after_repair"))
    out +=
        Figure("After a repair", Percent(NumberOf(In(all, "after_repair"), "value")), "of the answers pass");
  if (all.contains("fast")) {
    out += Figure("Faster", Percent(NumberOf(In(In(all, "fast"), "1"), "value")),
                  "of the answers pass and are faster than eager PyTorch");
    out += Figure("Speedup", Digits(NumberOf(In(all, "speedup"), "median")),
                  "times as fast as eager PyTorch: median of the fastest answers to each task");
  }
  if (of.contains("tokens_an_answer"))
    out += Figure("Length", fmt::format("{:.0f}", NumberOf(of, "tokens_an_answer")), "tokens an answer");
  return "<dl class=\"figures\">\n" + out + "</dl>\n";
}

std::string Groups(const Json& of) {
  std::vector<Share> rows;
  Table table({"group", "tasks", "answers", "pass@1", "pass@n", "plans", "several plans"}, 1);
  for (const auto& [group, cell] : In(of, "groups").items()) {
    const auto [first, last] = EndsOf(cell);
    const Json& pass = In(cell, "pass");
    for (const auto& [k, estimate] : pass.items()) {
      if (k == first || k == last) rows.push_back(ShareOf(group + ", pass@" + k, estimate));
    }
    table.Row({group, fmt::format("{}", CountOf(cell, "tasks")), fmt::format("{}", CountOf(cell, "answers")),
               WithInterval(In(pass, first)), WithInterval(In(pass, last)),
               fmt::format("{:.2f}", NumberOf(In(cell, "plans"), "mean")),
               WithInterval(In(In(cell, "plans"), "several"))});
  }
  if (rows.empty()) return "";
  return SharePlot("Tasks that pass, by group, with 95% intervals", rows) +
         "<p class=\"axis\">whiskers: 95 % intervals over tasks</p>\n" + table.Html();
}

// fast_p by group.
std::string Speed(const Json& of) {
  std::vector<Share> rows;
  Table table({"group", "tasks timed", "median", "geometric mean"}, 1);
  for (const auto& [group, cell] : In(of, "groups").items()) {
    if (!cell.contains("fast")) continue;
    for (const auto& [p, estimate] : In(cell, "fast").items())
      rows.push_back(ShareOf(fmt::format("{}, more than {} times", group, p), estimate));
    const Json& speedup = In(cell, "speedup");
    table.Row({group, fmt::format("{}", CountOf(speedup, "tasks")), Digits(NumberOf(speedup, "median")),
               Digits(NumberOf(speedup, "geometric_mean"))});
  }
  if (rows.empty()) return "";
  return SharePlot("Answers that pass and are p times as fast as eager PyTorch (fast_p)", rows) +
         table.Html() +
         "<p class=\"axis\">median and geometric mean: of the fastest answer to each task</p>\n";
}

// pass@k over k, all groups together.
std::string Samples(const Json& of) {
  std::vector<Share> rows;
  for (const auto& [k, estimate] : In(In(of, "all"), "pass").items())
    rows.push_back(ShareOf("pass@" + k, estimate));
  return rows.size() < 2 ? "" : SharePlot("pass@k by k", rows);
}

std::string Reasons(const Json& verdicts, const Json& examples) {
  std::vector<std::pair<std::string, int64_t>> rows;
  for (const auto& [reason, count] : verdicts.items()) {
    if (reason != "passed" && count.is_number_integer()) rows.emplace_back(reason, count.get<int64_t>());
  }
  if (rows.empty()) return "";
  std::stable_sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return a.second > b.second; });
  Table table({"reason", "answers"}, 1);
  for (const auto& [reason, count] : rows) {
    table.Row({reason, fmt::format("{}", count)});
    if (const std::string example = TextOf(examples, reason); !example.empty())
      table.Remark("such as " + example);
  }
  return BarPlot("Answers that failed, by reason", rows) +
         "<details><summary>an example of each</summary>\n" + table.Html() + "</details>\n";
}

// The worst first.
std::string Operators(const Json& of) {
  constexpr size_t kShown = 20;
  std::vector<std::pair<double, std::string>> order;
  const Json& operators = In(of, "operators");
  for (const auto& [name, cell] : operators.items())
    order.emplace_back(NumberOf(In(In(cell, "pass"), "1"), "value"), name);
  std::stable_sort(order.begin(), order.end());
  const std::vector<std::string> titles = {"operator", "tasks", "pass@1", "pass@n"};
  Table worst(titles, 1), rest(titles, 1);
  for (size_t i = 0; i < order.size(); ++i) {
    const Json& cell = In(operators, order[i].second);
    const auto [first, last] = EndsOf(cell);
    (i < kShown ? worst : rest)
        .Row({order[i].second, fmt::format("{}", CountOf(cell, "tasks")),
              WithInterval(In(In(cell, "pass"), first)), WithInterval(In(In(cell, "pass"), last))});
  }
  if (order.empty()) return "";
  std::string html =
      "<p class=\"axis\">the worst first; a task counts for each of its operators</p>\n" + worst.Html();
  if (order.size() > kShown)
    html += fmt::format("<details><summary>{} more</summary>\n{}</details>\n", order.size() - kShown,
                        rest.Html());
  return html;
}

std::string Origin(const Json& summary, const std::vector<std::string>& versions) {
  std::string text = "<dl class=\"facts\">\n";
  for (const auto& [key, value] : In(summary, "options").items()) {
    if (value.is_null() || value == "") continue;
    const std::string shown = value.is_string() ? value.get<std::string>()
                                                : value.dump(-1, ' ', false, Json::error_handler_t::replace);
    text += Fact(key, "<code>" + Escape(shown) + "</code>");
  }
  text += Fact("Time", fmt::format("{:.0f} s", NumberOf(summary, "seconds")));
  return text + VersionsFact(versions) + "</dl>\n";
}

}  // namespace
}  // namespace report

std::string RenderEvalReport(const std::string& name, const nlohmann::ordered_json& summary,
                             const std::vector<std::string>& versions) {
  using namespace report;
  std::string main =
      fmt::format("<header>\n<p class=\"over\">Tritogen eval</p>\n<h1>{}</h1>\n</header>\n", Escape(name));
  const Json& proposers = In(summary, "proposers");
  for (const auto& [proposer, of] : proposers.items()) {
    const std::string by = proposers.size() > 1 ? proposer + ": " : "";
    main += proposers.size() > 1 ? Section(proposer, Figures(of)) : Figures(of);
    main += Section(by + "Passed", Groups(of));
    main += Section(by + "Samples", Samples(of));
    main += Section(by + "Speed", Speed(of));
    main += Section(by + "Failures", Reasons(In(of, "verdicts"), In(of, "examples")));
    main += Section(by + "Failures of repairs", Reasons(In(of, "repair_verdicts"), Json::object()));
    main += Section(by + "Operators", Operators(of));
  }
  std::string remarks;
  for (const Json& remark : In(summary, "remarks")) {
    if (remark.is_string()) remarks += "<p class=\"note\">" + Escape(remark.get<std::string>()) + "</p>\n";
  }
  main += Section("Remarks", remarks) + Section("Origin", Origin(summary, versions));
  return Document(name + " – Tritogen eval", main);
}

}  // namespace tritogen
