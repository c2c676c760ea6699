// data: sets of verified answers; each subcommand has a file of its own.
#include "cli/data.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "base/atomic_file.h"
#include "cli/exit_code.h"
#include "config/fields.h"

namespace tritogen {
namespace {

constexpr Command kSubcommands[] = {
    {"build", "draw programs, answer, verify, filter, write shards; goes on where it stopped", RunDataBuild},
    {"stats", "what a set holds, as text or as an HTML page", RunDataStats},
    {"show", "one record, readably", RunDataShow},
    {"export", "a set as conversations, or as verl reads it", RunDataExport},
    {"verify-manifest", "check every file of a set against its manifest", RunDataVerify},
    {"fingerprints", "fingerprints of PyTorch files that a set must not contain", RunDataFingerprints},
};

void PrintSubcommands(std::FILE* out) {
  fmt::print(out, "usage: ./tritogen data SUBCOMMAND [OPTIONS]\n\n");
  for (const Command& command : kSubcommands) fmt::print(out, "  {:<16} {}\n", command.name, command.summary);
  fmt::print(out, "\n./tritogen data SUBCOMMAND --help says more.\n");
}

}  // namespace

data::BuildOptions ReadSetConfig(const std::string& file, const Environment& environment) {
  data::BuildOptions options = data::ReadBuildOptions(ReadFile(file, size_t{1} << 20), file);
  for (std::string& path : options.programs.avoid) {
    const std::filesystem::path there = std::filesystem::path(environment.root) / path;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored) && std::filesystem::exists(there, ignored)) path = there;
  }
  return options;
}

int RunData(int argc, char** argv, const Environment& environment) {
  const std::string_view name = argc > 1 ? argv[1] : "--help";
  if (name == "--help" || name == "-h") {
    PrintSubcommands(stdout);
    return 0;
  }
  std::vector<std::string> names;
  for (const Command& command : kSubcommands) {
    if (name == command.name) return command.run(argc - 1, argv + 1, environment);
    names.emplace_back(command.name);
  }
  fmt::print(stderr, "tritogen data: there is no subcommand '{}'{}\n", name, config::Suggestion(name, names));
  return kWrongUseExit;
}

}  // namespace tritogen
