// Many prompts through an engine: submitted as they are encoded, their answers as they are complete.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/generate_output.h"
#include "engine/engine.h"
#include "engine/prompt_file.h"

namespace tritogen {

// What a run came to.
struct GenerateTally {
  int64_t prompts = 0;  // that were answered
  int64_t refused = 0;  // prompts
  int64_t failed = 0;   // answers that ended with an error
  bool interrupted = false;
  std::vector<double> first_token_seconds;  // of each answer that has one, from when its prompt was submitted
  double seconds = 0, first_seconds = 0;    // of all, and until the first token of all
};

struct GenerateRun {
  const Tokenizer* tokenizer = nullptr;
  const ChatTemplate* chat_template = nullptr;  // may be null, and why:
  std::string why_no_chat;
  GenerateOptions options;
  int32_t n = 1;
  bool stream = false;  // on_text is called as text comes, else never
  // All called on the thread of Generate.
  std::function<void(const std::string& text)> on_text;
  std::function<void(const Prompt& prompt, const std::vector<Completion>& answers)> on_answers;
  std::function<void(const Prompt& prompt, const std::string& why)> on_refused;
  std::function<bool()> stop;  // asked several times a second; true: what runs is cancelled
};

// The seed of a file's prompt; one that is not from a file has the run's own.
uint64_t PromptSeed(uint64_t seed, int64_t number);

// Prompts with a fault are refused. Throws what the engine throws but for UserError, which refuses a prompt.
GenerateTally Generate(const std::vector<Prompt>& prompts, const GenerateRun& run, Generator* generator);

}  // namespace tritogen
