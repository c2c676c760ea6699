// data show: one record, readably. data verify-manifest: whether a set is whole.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/data.h"
#include "cli/exit_code.h"
#include "cli/parse.h"
#include "data/manifest.h"

namespace tritogen {
namespace {

// Everything that a shard holds may come from anywhere; terminals are spared its control characters.
void PrintRecord(const data::Record& r, int64_t number) {
  std::string text = fmt::format("record {} (id {}), level {}, {}: {}\n", number, r.id(), r.level, r.split,
                                 fmt::join(r.ops, ", "));
  text += fmt::format("fingerprint {}, graph {}, seed {}\n\n{}\n", r.fingerprint, r.graph_fingerprint, r.seed,
                      r.reference);
  text += fmt::format("── {}: {} ──\n\n", r.teacher, r.strategy);
  if (!r.thoughts.empty()) text += r.thoughts + "\n\n";
  text += fmt::format("{}\n{}\n── verdict ──\n\n{}", r.plan, r.source, r.verdict);
  if (!r.reason.empty()) text += ": " + r.reason;
  text += fmt::format("\nwork in Triton: {:.4g} % of FLOPs, {:.4g} % of bytes\n", 100 * r.work_flops,
                      100 * r.work_bytes);
  for (const auto& [label, value] : r.labels.items()) text += fmt::format("{}: {}\n", label, value.dump());
  fmt::print("{}", PrintableText(text, size_t{1} << 24));
}

// The record that is number `which` in the set, or has it as its id.
bool Show(const std::filesystem::path& folder, const std::string& which, bool failures) {
  const data::Manifest manifest = data::ReadManifest(folder);
  int64_t number = -1;
  const auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), number);
  const bool by_id = error != std::errc() || end != which.data() + which.size();
  const int64_t draw = number;  // an id begins with its draw
  int64_t before = 0;
  for (const data::ShardInfo& shard : manifest.shards) {
    const data::FileInfo& info = failures ? shard.failures : shard.records;
    const bool here = by_id ? draw >= shard.first && draw < shard.first + shard.draws
                            : number >= before && number < before + info.records;
    if (here) {
      const auto records = data::ReadRecords(
          folder / (failures ? data::FailuresName(shard.index) : data::ShardName(shard.index)), info);
      for (size_t i = 0; i < records.size(); ++i) {
        const int64_t place = before + static_cast<int64_t>(i);
        if (by_id ? records[i].id() != which : place != number) continue;
        PrintRecord(records[i], place);
        return true;
      }
    }
    before += info.records;
  }
  throw UserError(fmt::format("there is no {} '{}': {} holds {}, numbered from 0",
                              failures ? "failure" : "record", which, folder.string(), before));
}

}  // namespace

int RunDataShow(int argc, char** argv, const Environment& environment) {
  CLI::App app("Prints one record: program, plan, code, verdict.", "./tritogen data show");
  std::string folder, which;
  bool failures = false;
  app.add_option("SET", folder, "folder of the set")->required();
  app.add_option("N", which, "its number from 0, or its id, such as 1234-2")->required();
  app.add_flag("--failures", failures, "of the answers that did not pass");
  if (auto code = Parse(&app, argc, argv)) return *code;
  return Show(folder, which, failures) ? kDoneExit : kFlawedExit;
}

int RunDataVerify(int argc, char** argv, const Environment& environment) {
  CLI::App app("Checks every file of a set against its manifest. Exit code 0: all whole, 1: some are not.",
               "./tritogen data verify-manifest");
  std::string folder;
  app.add_option("SET", folder, "folder of the set")->required();
  if (auto code = Parse(&app, argc, argv)) return *code;
  const data::Manifest manifest = data::ReadManifest(folder);
  const std::vector<std::string> faults = data::VerifyFiles(folder, manifest);
  for (const std::string& fault : faults) fmt::print("{}\n", fault);
  fmt::print("{} records in {} shards, {}\n", manifest.tally().records, manifest.shards.size(),
             faults.empty() ? "all whole"
                            : "NOT whole: data build with the set's configuration builds those shards anew");
  return faults.empty() ? kDoneExit : kFlawedExit;
}

}  // namespace tritogen
