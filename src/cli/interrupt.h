// How every command begins and may be ended: its arguments, Ctrl-C.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>

namespace tritogen {

// Parses argv; returns the exit code when the command must not go on (help, wrong use).
std::optional<int> Parse(CLI::App* app, int argc, char** argv);

// After CatchInterrupt, Ctrl-C and SIGTERM only set a flag.
void CatchInterrupt();
bool Interrupted();
constexpr int kInterruptedExit = 130;

}  // namespace tritogen
