#include "cli/convert_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/version.h"
#include "report/report.h"
#include "report/verdict_view.h"

namespace tritogen {
namespace {

using nlohmann::json;

// The table, with times where a GPU took any.
std::string TableText(const std::vector<ConvertReport::Row>& rows) {
  size_t width = 8, names = 9;
  for (const auto& row : rows) {
    width = std::max(width, row.candidate.strategy.size());
    names = std::max(names, row.candidate.proposer.size());
  }
  const bool timed = std::any_of(rows.begin(), rows.end(), [](const auto& row) {
    return MedianMicrosecondsIn(row.verdict).has_value();
  });
  std::string text = fmt::format("{:<{}} {:<{}}  {:<16} {:>9} {:>9} {:>9}  {:>9}", "proposer", names,
                                 "strategy", width, "verdict", "error", "eager", "budget", "in Triton");
  text += timed ? fmt::format("  {:>10}  {:>8}  {:>10}\n", "time", "vs eager", "vs compile") : "\n";
  for (const auto& row : rows) {
    const json worst = WorstOutputIn(row.verdict);
    text += fmt::format("{:<{}} {:<{}}  {:<16} {:>9} {:>9} {:>9}  {:>9}", row.candidate.proposer, names,
                        row.candidate.strategy, width, TextIn(row.verdict, "verdict"),
                        NumberIn(worst, "error"), NumberIn(worst, "eager_error"), NumberIn(worst, "budget"),
                        fmt::format("{:.0f}%", 100 * WorkShareIn(row.verdict)));
    if (timed) {
      const auto median = MedianMicrosecondsIn(row.verdict);
      auto speedup = [&](const std::string& baseline) {
        const auto times = SpeedupIn(row.verdict, baseline);
        return times ? fmt::format("{:.2f}x", *times) : "-";
      };
      text += fmt::format("  {:>10}  {:>8}  {:>10}", median ? fmt::format("{:.1f} us", *median) : "-",
                          speedup(EagerIn(row.verdict)), speedup("torch.compile"));
    }
    text += '\n';
    if (TextIn(row.verdict, "verdict") != "passed")
      text += fmt::format("          {}\n", TextIn(row.verdict, "reason"));
  }
  return text;
}

// "CPU tile machine, seed 7. Not timed: no GPU took part."
std::string WhereVerified(const json& verdict) {
  const std::string seed = fmt::format("seed {}", verdict.value("seed", uint64_t{0}));
  const auto median = MedianMicrosecondsIn(verdict);
  if (!median) return fmt::format("CPU tile machine, {}. Not timed: no GPU took part.", seed);
  const json& timing = verdict.at("timing");
  std::string speedups;
  if (const auto eager = SpeedupIn(verdict, EagerIn(verdict)))
    speedups += fmt::format(", {:.2f} times as fast as {}", *eager, EagerInWords(verdict));
  if (const auto compiled = SpeedupIn(verdict, "torch.compile"))
    speedups += fmt::format(", {:.2f} times as fast as torch.compile", *compiled);
  return fmt::format("{}, {}. Median time {:.1f} us{}.", TextIn(timing, "device"), seed, *median, speedups);
}

// How many candidates each proposer had, repairs among them, and how many passed; in the order of the rows.
struct Tally {
  std::string proposer;
  int candidates = 0, passed = 0;
};

std::vector<Tally> TallyOf(const std::vector<ConvertReport::Row>& rows) {
  std::vector<Tally> tallies;
  for (const auto& row : rows) {
    auto tally = std::ranges::find(tallies, row.candidate.proposer, &Tally::proposer);
    if (tally == tallies.end()) tally = tallies.insert(tally, {.proposer = row.candidate.proposer});
    ++tally->candidates;
    tally->passed += TextIn(row.verdict, "verdict") == "passed";
  }
  return tallies;
}

}  // namespace

json ConvertReport::ToJson() const {
  json candidates = json::array();
  for (const Row& row : rows) {
    candidates.push_back({{"proposer", row.candidate.proposer},
                          {"strategy", row.candidate.strategy},
                          {"verdict", row.verdict}});
  }
  json proposers = json::object();
  for (const Tally& tally : TallyOf(rows))
    proposers[tally.proposer] = {{"candidates", tally.candidates}, {"passed", tally.passed}};
  return {{"file", file},
          {"proposers", proposers},
          {"out", out.empty() ? json() : json(out)},
          {"chosen", chosen ? json(ChosenStrategy()) : json()},
          {"seed", seed},
          {"candidates", candidates},
          {"remarks", remarks}};
}

std::string ConvertReport::ToText() const {
  std::string said;
  for (const std::string& remark : remarks) said += remark + "\n";
  if (rows.empty()) return fmt::format("{}no proposer had a candidate for {}\n", said, file);
  std::string text = TableText(rows);
  const std::vector<Tally> tallies = TallyOf(rows);
  for (const Tally& tally : tallies) {
    if (tallies.size() > 1)
      text += fmt::format("{}: {} of {} passed\n", tally.proposer, tally.passed, tally.candidates);
  }
  const auto cached = std::count_if(rows.begin(), rows.end(),
                                    [](const Row& row) { return !TextIn(row.verdict, "made").empty(); });
  if (cached > 0) text += fmt::format("{} of them judged by earlier runs (--no-cache judges anew)\n", cached);
  return text + said +
         (out.empty() ? fmt::format("\nnone was written (seed {})\n", seed)
                      : fmt::format("\nwrote {}: {} (seed {})\n", out, ChosenStrategy(), seed));
}

std::string ConvertReport::ToHtml(const std::string& source) const {
  ReportInput page{.command = "convert",
                   .task = std::filesystem::path(file).filename().string(),
                   .verdict = chosen ? rows.at(*chosen).verdict : json(),
                   .remarks = remarks,
                   .versions = Versions()};
  for (size_t i = 0; i < rows.size(); ++i)
    page.candidates.push_back(
        {rows[i].candidate.proposer, rows[i].candidate.strategy, rows[i].verdict, chosen == i});
  if (!module.empty()) page.sources.push_back({"Shipped module", module});
  page.sources.push_back({"Original program", source, /*open=*/false});
  return RenderReport(page);
}

std::vector<std::string> ModuleHeader(const std::string& file, const Candidate& candidate,
                                      const json& verdict) {
  const json worst = WorstOutputIn(verdict);
  std::vector<std::string> lines = {
      fmt::format("{} with Triton kernels, verified by Tritogen {}.",
                  std::filesystem::path(file).filename().string(), kVersion),
      "",
      fmt::format("Written by: {} ({}).", candidate.proposer, candidate.strategy),
      fmt::format("Verified on: {}", WhereVerified(verdict)),
      fmt::format("Error against fp64: {} (the eager program's own: {}; allowed: {}).",
                  NumberIn(worst, "error"), NumberIn(worst, "eager_error"), NumberIn(worst, "budget")),
  };
  lines.push_back(fmt::format("Work in Triton: {:.0f}% of the original's.", 100 * WorkShareIn(verdict)));
  lines.push_back(fmt::format("Made with torch {} and Triton {}.", kTorchVersion, kTritonVersion));
  lines.push_back("");
  for (const char* line : {"Weights load from the original's state dict. The original program runs for",
                           "arguments of another shape, dtype or device, where gradients are needed, under",
                           "autocast, in traces, and in a module that was made with other arguments or whose",
                           "layers, hooks, numbers or methods were changed."})
    lines.push_back(line);
  return lines;
}

}  // namespace tritogen
