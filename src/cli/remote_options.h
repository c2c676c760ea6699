// Options of commands that ask proposers: which ones, and for a remote model how it is reached and asked.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "propose/proposer.h"

namespace tritogen {

struct ProposerOptions {
  std::vector<std::string> proposers = {"teacher"};  // "teacher", "inductor", "remote:URL"
  std::string model, prompt = "autotriton_distil", body, key_variable = "OPENAI_API_KEY", cost_log, extra;
  int concurrency = 4, retries = 5;
  std::optional<int> max_tokens;
  std::optional<double> temperature, top_p, prompt_price, completion_price;
  double timeout_seconds = 1800, idle_seconds = 300, retry_wait_seconds = 1;
  bool no_stream = false;

  void AddTo(CLI::App* app);
  // Without --proposer, where something else says who.
  void AddRemoteTo(CLI::App* app);

  struct Context {
    std::string python, worker_folder;  // for inductor
    std::string device;                 // for prompts; empty: no particular GPU
    std::function<bool()> give_up;      // Ctrl-C
    bool must_answer = false;           // an endpoint that is out ends the command
    std::function<void(int64_t done, int64_t total)> progress;
  };
  // One for each that was named, in that order. Takes the key out of the environment, so that no process that
  // is started later has it. Throws UserError for options that cannot work.
  std::vector<std::unique_ptr<Proposer>> Make(const Context& context) const;
};

}  // namespace tritogen
