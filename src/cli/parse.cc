#include "cli/parse.h"

#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "config/fields.h"

namespace tritogen {
namespace {

// Of this one and of its groups, which are nameless parts of it.
void AddOptionNames(const CLI::App& app, std::vector<std::string>* names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names->push_back("--" + name);
  }
  for (const CLI::App* group : app.get_subcommands(nullptr)) AddOptionNames(*group, names);
}

// What is wrong with arguments that belong to nothing; "" when there are none.
std::string Unexpected(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining(true);
  for (const std::string& argument : left) {
    if (argument.size() < 2 || argument[0] != '-') continue;
    // The words behind it may be its values, so it is the one to name.
    const std::string option = argument.substr(0, argument.find('='));
    std::vector<std::string> names;
    AddOptionNames(app, &names);
    return fmt::format("there is no option {}{}", option, config::DidYouMean(option, names));
  }
  return left.empty() ? "" : fmt::format("not expected: {}", fmt::join(left, " "));
}

}  // namespace

std::optional<int> Parse(CLI::App* app, int argc, const char* const* argv) {
  try {
    app->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    // A misspelt option is often also a required one that is missing, which CLI11 finds first.
    const std::string unexpected = error.get_exit_code() == 0 ? "" : Unexpected(*app);
    if (unexpected.empty()) return app->exit(error) == 0 ? kDoneExit : kWrongUseExit;
    app->exit(CLI::ExtrasError(unexpected, CLI::ExitCodes::ExtrasError));
    return kWrongUseExit;
  }
}

}  // namespace tritogen
