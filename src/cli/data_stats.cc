// data stats: what a set holds, as text, JSON or an HTML page.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "base/atomic_file.h"
#include "cli/data.h"
#include "cli/files.h"
#include "cli/parse.h"
#include "data/stats.h"
#include "report/data_report.h"

namespace tritogen {
namespace {

using Json = nlohmann::ordered_json;

std::string Counts(const std::string& title, const Json& counts, size_t most, bool largest_first) {
  std::vector<std::pair<std::string, int64_t>> rows;
  for (const auto& [key, count] : counts.items()) rows.emplace_back(key, count);
  if (largest_first)
    std::stable_sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return a.second > b.second; });
  std::string text = fmt::format("\n{}\n", title);
  for (size_t i = 0; i < std::min(rows.size(), most); ++i)
    text += fmt::format("  {:<36} {:>9}\n", rows[i].first, rows[i].second);
  if (rows.size() > most) text += fmt::format("  and {} more (--json has them)\n", rows.size() - most);
  return text;
}

std::string ToText(const Json& stats) {
  constexpr size_t kMost = 25;
  const Json& tally = stats["tally"];
  const double answers = std::max<double>(1, tally["answers"]),
               programs = std::max<double>(1, tally["programs"]);
  std::string text = fmt::format(
      "{} records in {} shards, {:.1f} MB\n{} programs drawn, {:.1f} % answered; {} answers judged, {:.2f} % "
      "passed\n",
      stats["records"].get<int64_t>(), stats["shards"].get<int64_t>(), stats["bytes"].get<double>() / 1e6,
      tally["programs"].get<int64_t>(), 100 * tally["answered"].get<double>() / programs,
      tally["answers"].get<int64_t>(), 100 * tally["passed"].get<double>() / answers);
  text += Counts("Records by split", stats["splits"], kMost, false);
  text += Counts("Records by level", stats["levels"], kMost, false);
  text += Counts("Records by operator", stats["operators"], kMost, true);
  text += Counts("Records by strategy", stats["strategies"], kMost, true);
  text += Counts("Records by elements of the largest tensor, from 2^", stats["elements"], kMost, false);
  text += Counts("Left out", tally["dropped"], 100, true);
  for (const auto& [reason, example] : tally["examples"].items())
    text += fmt::format("    {}, such as {}\n", reason, example.get<std::string>());
  text += fmt::format("\nLengths                    least   quarter    median  3 quarters      most\n");
  for (const auto& [name, lengths] : stats["lengths"].items()) {
    text +=
        fmt::format("  {:<22}{:>8}  {:>8}  {:>8}    {:>8}  {:>8}\n", name, lengths["least"].get<int64_t>(),
                    lengths["q1"].get<int64_t>(), lengths["median"].get<int64_t>(),
                    lengths["q3"].get<int64_t>(), lengths["most"].get<int64_t>());
  }
  return text;
}

}  // namespace

int RunDataStats(int argc, char** argv, const Environment& environment) {
  CLI::App app(
      "Prints what a set holds: operators, levels, shapes, lengths, yields, failures by reason.\n"
      "Lengths are bytes; source_tokens are Python's tokens.",
      "./tritogen data stats");
  std::string folder, html;
  bool json = false;
  app.add_option("SET", folder, "folder of the set")->required();
  app.add_option("--html", html, "write a page to this file, self-contained");
  app.add_flag("--json", json, "print JSON");
  if (auto code = Parse(&app, argc, argv)) return *code;
  RequireWritable(html);
  const data::Manifest manifest = data::ReadManifest(folder);
  const Json stats = data::StatsOf(folder, manifest);
  if (!html.empty()) {
    const std::string name = std::filesystem::absolute(folder).lexically_normal().filename().string();
    WriteFileAtomic(html, RenderDataReport(name.empty() ? folder : name, stats, manifest.versions));
  }
  std::cout << (json ? stats.dump(2) + "\n" : ToText(stats));
  return 0;
}

}  // namespace tritogen
