// A model folder that is ready to generate, for the commands that do.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "engine/engine.h"
#include "runner/open_runner.h"
#include "text/chat_template.h"

namespace tritogen {

struct ModelOptions {
  std::string folder;
  RunnerOptions runner;
  EngineOptions engine;

  void AddTo(CLI::App* app);
};

struct ModelSession {
  std::string name;  // the folder's
  std::unique_ptr<const Tokenizer> tokenizer;
  std::optional<ChatTemplate> chat_template;  // none: texts only, and why_no_chat says why
  std::string why_no_chat;
  GenerateOptions defaults;        // the folder's own; its eos tokens are the stop tokens
  std::unique_ptr<Engine> engine;  // last: it uses the tokenizer
};

// --tensor-parallel and --rank-timeout.
void AddRankOptions(CLI::App* app, RankOptions* options);

// What a lost rank of a model on several GPUs means for a command: the reason on stderr, exit code 3; 2 when
// it is the user's fault.
[[noreturn]] void EndForLostRank(const std::string& why, bool users_fault);

// Throws UserError for a folder that is none, and for what is missing or damaged in it.
ModelSession OpenModel(const ModelOptions& options, const Environment& environment);

}  // namespace tritogen
