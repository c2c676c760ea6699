#include "cli/convert_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "cli/version.h"

namespace tritogen {
namespace {

using nlohmann::json;

std::string Number(const json& object, const char* key, const char* format) {
  const json value = object.value(key, json());
  return value.is_number() ? fmt::format(fmt::runtime(format), value.get<double>()) : "-";
}

// The output that came closest to its budget.
json WorstOutput(const json& verdict) {
  json worst = json::object();
  double closest = -1;
  for (const json& output : verdict.value("outputs", json::array())) {
    const json error = output.value("error", json()), budget = output.value("budget", json());
    if (!error.is_number() || !budget.is_number()) return output;
    const double share = error.get<double>() / std::max(budget.get<double>(), 1e-300);
    if (share > closest) {
      closest = share;
      worst = output;
    }
  }
  return worst;
}

void PrintTable(const std::vector<ConvertReport::Row>& rows) {
  size_t width = 8;
  for (const auto& row : rows) width = std::max(width, row.candidate.strategy.size());
  fmt::print("{:<9} {:<{}}  {:<16} {:>9} {:>9} {:>9}  {:>10}  {}\n", "proposer", "strategy", width, "verdict",
             "error", "eager", "budget", "in Triton", "time");
  for (const auto& row : rows) {
    const json worst = WorstOutput(row.verdict);
    const json share = row.verdict.value("work_share", json());
    fmt::print("{:<9} {:<{}}  {:<16} {:>9} {:>9} {:>9}  {:>10}  {}\n", row.candidate.proposer,
               row.candidate.strategy, width, row.verdict.value("verdict", "?"),
               Number(worst, "error", "{:.2e}"), Number(worst, "eager_error", "{:.2e}"),
               Number(worst, "budget", "{:.2e}"),
               share.is_number() ? fmt::format("{:.0f}%", 100 * share.get<double>()) : "-", "no GPU");
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
  const json worst = WorstOutput(verdict);
  std::vector<std::string> lines = {
      fmt::format("{} with Triton kernels, verified by Tritogen {}.",
                  std::filesystem::path(file).filename().string(), kVersion),
      "",
      fmt::format("Written by: {} ({}).", candidate.proposer, candidate.strategy),
      fmt::format("Verified on: CPU tile machine, seed {}. Not timed: no GPU took part.",
                  verdict.value("seed", uint64_t{0})),
      fmt::format("Error against fp64: {} (the eager program's own: {}; allowed: {}).",
                  Number(worst, "error", "{:.2e}"), Number(worst, "eager_error", "{:.2e}"),
                  Number(worst, "budget", "{:.2e}")),
  };
  const json share = verdict.value("work_share", json());
  if (share.is_number()) {
    lines.push_back(fmt::format("Work in Triton: {:.0f}% of the original's.", 100 * share.get<double>()));
  }
  lines.push_back(fmt::format("Made with torch {} and Triton {}.", kTorchVersion, kTritonVersion));
  lines.push_back("");
  lines.push_back(
      "Weights load from the original's state dict. Arguments of another shape, dtype or device, and calls "
      "that");
  lines.push_back("need gradients, run the original program.");
  return lines;
}

}  // namespace tritogen
