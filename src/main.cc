// Finds the command, runs it, and turns failures into exit codes: 2 wrong use, 3 the infrastructure failed.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "base/error.h"
#include "cli/command.h"

namespace {

tritogen::Environment ReadEnvironment() {
  auto get = [](const char* name, const char* fallback) {
    const char* value = std::getenv(name);
    return std::string(value && *value ? value : fallback);
  };
  return {.root = get("TRITOGEN_ROOT", "."), .python = get("TRITOGEN_PYTHON", "python3")};
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
      return command.run(argc - 1, argv + 1, ReadEnvironment());
    } catch (const tritogen::UserError& error) {
      std::fprintf(stderr, "tritogen %s: %s\n", command.name, error.what());
      return 2;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "tritogen %s: this is a fault of Tritogen, not of your input: %s\n", command.name,
                   error.what());
      return 3;
    }
  }
  tritogen::RefuseCommand(argv[1]);
  return 2;
}
