#include "cli/convert_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "cli/verdict_view.h"
#include "cli/version.h"

namespace tritogen {
namespace {

using nlohmann::json;

void PrintTable(const std::vector<ConvertReport::Row>& rows) {
  size_t width = 8;
  for (const auto& row : rows) width = std::max(width, row.candidate.strategy.size());
  fmt::print("{:<9} {:<{}}  {:<16} {:>9} {:>9} {:>9}  {:>10}  {}\n", "proposer", "strategy", width, "verdict",
             "error", "eager", "budget", "in Triton", "time");
  for (const auto& row : rows) {
    const json worst = WorstOutputIn(row.verdict);
    fmt::print("{:<9} {:<{}}  {:<16} {:>9} {:>9} {:>9}  {:>10}  {}\n", row.candidate.proposer,
               row.candidate.strategy, width, row.verdict.value("verdict", "?"), NumberIn(worst, "error"),
               NumberIn(worst, "eager_error"), NumberIn(worst, "budget"),
               fmt::format("{:.0f}%", 100 * WorkShareIn(row.verdict)), "no GPU");
    if (row.verdict.value("verdict", "") != "passed")
      fmt::print("          {}\n", row.verdict.value("reason", ""));
  }
}

}  // namespace

void ConvertReport::Print(bool as_json) const {
  if (as_json) {
    json candidates = json::array();
    for (const Row& row : rows) {
      candidates.push_back({{"proposer", row.candidate.proposer},
                            {"strategy", row.candidate.strategy},
                            {"verdict", row.verdict}});
    }
    const json object = {{"file", file},
                         {"out", out.empty() ? json() : json(out)},
                         {"chosen", chosen.empty() ? json() : json(chosen)},
                         {"seed", seed},
                         {"candidates", candidates},
                         {"remarks", remarks}};
    std::cout << object.dump(2, ' ', false, json::error_handler_t::replace) << std::endl;
    return;
  }
  if (rows.empty()) {
    fmt::print("no proposer had a candidate for {}\n", file);
    return;
  }
  PrintTable(rows);
  for (const std::string& remark : remarks) fmt::print("{}\n", remark);
  if (out.empty()) {
    fmt::print("\nnone was written (seed {})\n", seed);
  } else {
    fmt::print("\nwrote {}: {} (seed {})\n", out, chosen, seed);
  }
}

std::vector<std::string> ModuleHeader(const std::string& file, const Candidate& candidate,
                                      const json& verdict) {
  const json worst = WorstOutputIn(verdict);
  std::vector<std::string> lines = {
      fmt::format("{} with Triton kernels, verified by Tritogen {}.",
                  std::filesystem::path(file).filename().string(), kVersion),
      "",
      fmt::format("Written by: {} ({}).", candidate.proposer, candidate.strategy),
      fmt::format("Verified on: CPU tile machine, seed {}. Not timed: no GPU took part.",
                  verdict.value("seed", uint64_t{0})),
      fmt::format("Error against fp64: {} (the eager program's own: {}; allowed: {}).",
                  NumberIn(worst, "error"), NumberIn(worst, "eager_error"), NumberIn(worst, "budget")),
  };
  lines.push_back(fmt::format("Work in Triton: {:.0f}% of the original's.", 100 * WorkShareIn(verdict)));
  lines.push_back(fmt::format("Made with torch {} and Triton {}.", kTorchVersion, kTritonVersion));
  lines.push_back("");
  lines.push_back(
      "Weights load from the original's state dict. Arguments of another shape, dtype or device, and calls "
      "that");
  lines.push_back("need gradients, run the original program.");
  return lines;
}

}  // namespace tritogen
