// Options of commands that ask proposers: which ones, how language models are asked, and how remote ones are
// reached.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "propose/language_proposer.h"
#include "runner/open_runner.h"

namespace tritogen {

struct ProposerOptions {
  // "policy", "teacher", "inductor", "remote:URL", a model folder. None: the teacher, and with it, where
  // `policy_too`, the policy that comes along, for programs as short as those that it knows.
  std::vector<std::string> proposers;
  bool policy_too = false;
  std::string model, prompt, body, key_variable = "OPENAI_API_KEY", cost_log, extra;
  int concurrency = 4, retries = 5, parts = 3, largest_size = 128;
  std::optional<int> max_tokens;
  std::optional<double> temperature, top_p, prompt_price, completion_price;
  double timeout_seconds = 1800, idle_seconds = 300, retry_wait_seconds = 1;
  bool no_stream = false, unjudged_parts = false;

  void AddTo(CLI::App* app);
  // Without --proposer, where something else says who.
  void AddRemoteTo(CLI::App* app);

  struct Context {
    Environment environment;
    std::string device;             // for prompts; empty: no particular GPU
    RunnerOptions runner;           // of model folders
    std::function<bool()> give_up;  // Ctrl-C
    bool must_answer = false;       // an endpoint that is out ends the command
    std::function<void(int64_t done, int64_t total)> progress;
  };
  // One for each that was named, in that order, with names unlike each other. Takes the key out of the
  // environment, so that no process that is started later has it. Model folders get their processes: call it
  // before threads are started. Throws UserError for options that cannot work.
  std::vector<std::unique_ptr<Proposer>> Make(const Context& context) const;

 private:
  std::unique_ptr<Proposer> MakeOne(const std::string& name, const std::string& key,
                                    const Context& context) const;
  std::unique_ptr<Proposer> MakeRemote(const std::string& url, const std::string& key,
                                       const Context& context) const;
  std::unique_ptr<Proposer> MakeLocal(const std::string& name, const std::string& folder,
                                      const Context& context, int most_operations = 0) const;
};

}  // namespace tritogen
