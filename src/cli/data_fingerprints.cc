// data fingerprints: PyTorch files, recorded and lifted, as the fingerprints that a set must not contain.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "cli/data.h"
#include "cli/exit_code.h"
#include "cli/files.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "plan/lift.h"
#include "synth/fingerprint.h"

namespace tritogen {
namespace {

// The files themselves, and the Python files in folders, sorted.
std::vector<std::string> FilesIn(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    const size_t before = files.size();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file() && entry.path().extension() == ".py")
        files.push_back(entry.path().string());
    }
    if (files.size() == before) throw UserError(fmt::format("there is no Python file in '{}'", path));
    std::sort(files.begin() + static_cast<int64_t>(before), files.end());
  }
  return files;
}

int PrintFingerprints(const std::vector<std::string>& paths, const std::string& entry, const std::string& out,
                      const CommonOptions& common, const Environment& environment) {
  const std::vector<std::string> files = FilesIn(paths);
  RequireWritable(out, paths);
  CatchInterrupt();
  const Workers workers = StartWorkers(environment, common, std::nullopt);
  workers.recorder->Require();
  std::string lines;
  int64_t failed = 0;
  Progress progress("fingerprints", static_cast<int64_t>(files.size()));
  for (size_t i = 0; i < files.size(); ++i) {
    if (Interrupted()) return kInterruptedExit;
    auto recorded =
        workers.recorder->Record({.role = Role::kReference, .source = ReadSource(files[i]), .entry = entry});
    if (const auto* failure = std::get_if<RecordFailure>(&recorded)) {
      progress.Clear();
      fmt::print(stderr, "{}: no fingerprint: {}\n", files[i], failure->message);
      ++failed;
    } else {
      const Program program = Lift(std::get<Plan>(recorded));
      const nlohmann::ordered_json line = {
          {"file", std::filesystem::path(files[i]).filename().string()},
          {"fingerprint", synth::Fingerprint(program, synth::Detail::kSizes)},
          {"graph_fingerprint", synth::Fingerprint(program, synth::Detail::kGraph)}};
      lines += line.dump() + "\n";
    }
    progress.Set(static_cast<int64_t>(i) + 1);
  }
  progress.Clear();
  if (out.empty())
    fmt::print("{}", lines);
  else
    WriteFileAtomic(out, lines);
  fmt::print(stderr, "{} of {} files have fingerprints\n", files.size() - failed, files.size());
  return failed == 0 ? kDoneExit : kFlawedExit;
}

}  // namespace

int RunDataFingerprints(int argc, char** argv, const Environment& environment) {
  CLI::App app(
      "Records PyTorch files (a test suite) and writes the fingerprints of their programs, for "
      "programs.avoid\n"
      "of data build and --avoid of synth. Exit code 1: some could not be recorded.",
      "./tritogen data fingerprints");
  std::vector<std::string> paths;
  std::string entry = "Model", out;
  CommonOptions common{.device = "cpu", .no_cache = true};
  app.add_option("FILES", paths, "files, or folders of them")->required();
  app.add_option("--class", entry, "class in each file")->capture_default_str();
  app.add_option("--out", out, "file; standard output when absent");
  AddWeakJail(&app, &common.allow_weak_jail);
  if (auto code = Parse(&app, argc, argv)) return *code;
  return PrintFingerprints(paths, entry, out, common, environment);
}

}  // namespace tritogen
