// What an evaluation leaves behind: a folder with its options, a line for each task that is done, and in the
// end the summary. The same evaluation goes on in it where an earlier run stopped.
#pragma once

#include <nlohmann/json.hpp>

#include <set>
#include <string>

#include "cli/json_lines.h"
#include "eval/result.h"
#include "eval/score.h"

namespace tritogen {

// JSONL files that are appended to; may be empty.
struct AnswerFiles {
  std::string failures;       // wrong answers
  std::string answers;        // all, as files
  std::string conversations;  // right ones and repairs, to learn from
};

class EvalOutput {
 public:
  // `folder` may be empty: nothing is kept. Makes the folder, or reads what is in it. Throws UserError where
  // it holds another evaluation (other options), results that are none, or cannot be written.
  EvalOutput(const std::string& folder, const nlohmann::ordered_json& options, const AnswerFiles& files);

  const std::set<std::string>& done() const { return done_; }  // ids of tasks
  // A line of the results, written whole; what goes to the other files before it.
  void Add(const eval::Task& task, const eval::Outcomes& outcomes);
  // The score of all results, also of earlier runs.
  const eval::Score& score() const { return score_; }
  // summary.json
  void Finish(const nlohmann::ordered_json& summary) const;

 private:
  void GoOn(const std::string& path);

  std::string folder_;
  AppendedLines results_, failures_, answers_, conversations_;
  std::set<std::string> done_;
  eval::Score score_;
};

}  // namespace tritogen
