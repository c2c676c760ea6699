// How every command begins: its arguments.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>

namespace tritogen {

// Parses argv; returns the exit code when the command must not go on: 0 after --help, 2 after wrong use,
// which has been said on stderr.
std::optional<int> Parse(CLI::App* app, int argc, const char* const* argv);

}  // namespace tritogen
