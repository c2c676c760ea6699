#include "cli/session.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>

#include "base/error.h"
#include "cli/files.h"

namespace tritogen {
namespace {

volatile sig_atomic_t interrupted = 0;

}  // namespace

void CommonOptions::AddTo(CLI::App* app) {
  auto* strict_flag = app->add_flag("--strict", strict, "all compute must run in Triton");
  app->add_flag("--hybrid", hybrid, "library calls are allowed and counted (default)")->excludes(strict_flag);
  app->add_option("--device", device, "where candidates run")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str();
  app->add_option("--seed", seed, "seed of inputs, weights and program order (default: drawn, and printed)");
  app->add_option("--budget", budget_seconds, "seconds for one candidate")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_flag("--json", json, "print JSON on stdout");
  app->add_option("--html", html, "write a report to this file: one self-contained page");
  app->add_flag("--allow-weak-jail", allow_weak_jail,
                "run untrusted code although this kernel refuses parts of the jail (see ./tritogen doctor)");
}

VerifyOptions CommonOptions::Verification(int threads) const {
  if (device == "cuda") throw UserError("this version verifies on the CPU only; use --device cpu or auto");
  return {.mode = strict ? Mode::kStrict : Mode::kHybrid,
          .seed = seed ? *seed : SecretSeed(),
          .threads = threads,
          .budget_seconds = budget_seconds};
}

std::optional<int> Parse(CLI::App* app, int argc, char** argv) {
  try {
    app->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app->exit(error) == 0 ? 0 : 2;
  }
}

Recorder StartRecorder(const Environment& environment, const CommonOptions& options) {
  return Recorder({.python = environment.python,
                   .worker_folder = environment.root + "/worker",
                   .allow_weak_jail = options.allow_weak_jail,
                   .wall_seconds = std::min(60.0, options.budget_seconds)});
}

int Cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

void CatchInterrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool Interrupted() {
  return interrupted;
}

}  // namespace tritogen
