// data export: a set as conversations, as verl reads it or as it is; as JSON lines or Parquet.
#include <fmt/format.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/process.h"
#include "base/temp_dir.h"
#include "base/text.h"
#include "cli/data.h"
#include "cli/exit_code.h"
#include "cli/files.h"
#include "cli/parse.h"
#include "data/conversation.h"
#include "data/manifest.h"

namespace tritogen {
namespace {

struct ExportOptions {
  std::string folder, format = "conversations", out, split = "all";
  bool one_per_program = false;
};

// Arrow's own writer, in Python: tools/to_parquet.py.
void WriteParquet(const std::string& from, const std::string& file, const Environment& environment) {
  const ProcessResult done =
      RunProcess({environment.python, environment.root + "/tools/to_parquet.py", from, file},
                 {.wall_seconds = 24 * 3600});
  if (!done.ok()) throw UserError(fmt::format("'{}' was not written: {}", file, Trimmed(done.error)));
}

// One line; `index` is its number.
std::string Row(const std::string& format, const data::Record& record, int64_t index) {
  if (format == "records") return data::ToLine(record);
  return (format == "verl" ? data::VerlRow(record, index) : data::Conversation(record)).dump();
}

// Gives their number.
int64_t WriteRows(const ExportOptions& o, const data::Manifest& manifest, const AppendPart& append) {
  int64_t count = 0;
  int64_t last_draw = -1;
  for (const data::ShardInfo& shard : manifest.shards) {
    std::string lines;
    for (const data::Record& record :
         data::ReadRecords(std::filesystem::path(o.folder) / data::ShardName(shard.index), shard.records)) {
      if (o.split != "all" && record.split != o.split) continue;
      if (o.one_per_program && std::exchange(last_draw, record.draw) == record.draw) continue;
      lines += Row(o.format, record, count++) + "\n";
    }
    append(lines);
  }
  return count;
}

int Export(const ExportOptions& o, const Environment& environment) {
  const data::Manifest manifest = data::ReadManifest(o.folder);
  RequireWritable(o.out);
  int64_t count = 0;
  const auto write = [&](const AppendPart& append) { count = WriteRows(o, manifest, append); };
  if (o.out.empty()) {
    write([](std::string_view lines) { fmt::print("{}", lines); });
  } else if (o.out.ends_with(".parquet")) {
    const TempDir folder;
    const std::string rows = folder.path() / "rows.jsonl";
    WriteFileAtomic(rows, write);
    WriteParquet(rows, o.out, environment);
  } else {
    WriteFileAtomic(o.out, write);
  }
  fmt::print(stderr, "{} rows\n", count);
  return kDoneExit;
}

}  // namespace

int RunDataExport(int argc, char** argv, const Environment& environment) {
  CLI::App app("Writes a set as JSON lines or Parquet that training frameworks read.",
               "./tritogen data export");
  ExportOptions options;
  app.add_option("SET", options.folder, "folder of the set")->required();
  app.add_option("--format", options.format,
                 "conversations: messages, as TRL and verl's supervised training read them; verl: prompts "
                 "with what a "
                 "reward needs, as verl's reinforcement learning reads them; records: as the set has them, "
                 "tasks of eval --suite among other things")
      ->check(CLI::IsMember({"conversations", "verl", "records"}))
      ->capture_default_str();
  app.add_option("--split", options.split, "which side")
      ->check(CLI::IsMember({"all", "train", "test"}))
      ->capture_default_str();
  app.add_flag("--one-per-program", options.one_per_program,
               "the first answer to each program only: prompts, each once");
  app.add_option("--out", options.out,
                 "file: Parquet where its name ends in .parquet (needs pyarrow), else JSON lines; standard "
                 "output when absent");
  if (auto code = Parse(&app, argc, argv)) return *code;
  return Export(options, environment);
}

}  // namespace tritogen
