// Where the answers of `generate` go: text for a person, or a JSON object a line.
#pragma once

#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <vector>

#include "cli/json_lines.h"
#include "engine/engine.h"

namespace tritogen {

// One sequence, as far as it came.
struct Completion {
  int32_t index = 0;  // of the answers to its prompt
  std::string text, error;
  std::vector<Sample> samples;
  FinishReason finish = FinishReason::kCancelled;
};

struct OutputOptions {
  bool json = false;      // on stdout
  std::string file;       // JSON lines are appended here; empty: none
  bool logprobs = false;  // in JSON
  bool headings = false;  // over texts on stdout
};

// {"id", "index", "text", "tokens", "finish", "logprobs"?, "error"?}; `logprobs` has for each token
// {"token", "text", "logprob", "top": [the same for the most probable ones]}; NaN is null.
nlohmann::json AnswerJson(const std::string& id, const Completion& answer, bool logprobs,
                          const Tokenizer& tokenizer);

// Ids whose `answers` lines are all in an earlier output; none when there is no such file. What a crash left
// unfinished at its end is cut off, so that appending is safe. Throws UserError where another number of
// answers, or something else, is in the file.
std::set<std::string> AnsweredIds(const std::string& path, int32_t answers);

class AnswerOutput {
 public:
  // Throws UserError when the file cannot be written.
  AnswerOutput(const OutputOptions& options, const Tokenizer* tokenizer);
  // All answers to a prompt, in one piece. Those cut off by Ctrl-C are not put into the file.
  void Write(const std::string& id, const std::vector<Completion>& answers);

 private:
  OutputOptions options_;
  const Tokenizer* tokenizer_;
  AppendedLines file_;
};

}  // namespace tritogen
