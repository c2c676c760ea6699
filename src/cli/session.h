// What commands that run programs share: their common options, the recorder, and Ctrl-C.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

#include "cli/command.h"
#include "record/recorder.h"
#include "verify/verifier.h"

namespace tritogen {

struct CommonOptions {
  bool strict = false, hybrid = false;
  std::string device = "auto";
  std::optional<uint64_t> seed;
  double budget_seconds = 120;
  bool json = false;
  std::string html;  // where the report page goes; empty: none is written
  bool allow_weak_jail = false;

  void AddTo(CLI::App* app);
  // Options of one verification; draws the seed when none was given. Throws UserError for a device that is
  // not there.
  VerifyOptions Verification(int threads) const;
};

// Parses argv; returns the exit code when the command must not go on (help, wrong use).
std::optional<int> Parse(CLI::App* app, int argc, char** argv);

Recorder StartRecorder(const Environment& environment, const CommonOptions& options);

// Cores this process may use.
int Cores();

// After CatchInterrupt, Ctrl-C and SIGTERM only set a flag.
void CatchInterrupt();
bool Interrupted();
constexpr int kInterruptedExit = 130;

}  // namespace tritogen
