// Finds the command, runs it, and turns failures into exit codes: 2 wrong use, 3 the infrastructure failed.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string_view>

#include "base/error.h"
#include "cli/command.h"
#include "cli/exit_code.h"

namespace {

tritogen::Environment ReadEnvironment() {
  auto get = [](const char* name, const char* fallback) {
    const char* value = std::getenv(name);
    return std::string(value && *value ? value : fallback);
  };
  return {.root = get("TRITOGEN_ROOT", "."), .python = get("TRITOGEN_PYTHON", "python3")};
}

int LostOutput(const char* command) {
  std::fprintf(stderr, "tritogen %s: the output cannot be written: is the disk full?\n", command);
  return tritogen::kWrongUseExit;
}

// The end of what was printed may still be in memory; a full disk shows when that is written.
int Finish(const char* command, int code) {
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  return written || code != 0 ? code : LostOutput(command);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "--help";
  if (name == "--help" || name == "-h" || name == "help") {
    tritogen::PrintUsage(stdout);
    return 0;
  }
  for (const tritogen::Command& command : tritogen::Commands()) {
    if (name != command.name) continue;
    try {
      return Finish(command.name, command.run(argc - 1, argv + 1, ReadEnvironment()));
    } catch (const tritogen::UserError& error) {
      std::fprintf(stderr, "tritogen %s: %s\n", command.name, error.what());
      return tritogen::kWrongUseExit;
    } catch (const std::exception& error) {
      if (std::ferror(stdout) != 0) return LostOutput(command.name);  // fmt::print says so
      std::fprintf(stderr, "tritogen %s: this is a fault of Tritogen, not of your input: %s\n", command.name,
                   error.what());
      return tritogen::kFaultExit;
    }
  }
  tritogen::RefuseCommand(argv[1]);
  return tritogen::kWrongUseExit;
}
