// What an evaluation leaves behind: a folder with its options, a line for each task that is done, and in the
// end the summary. The same evaluation goes on in it where an earlier run stopped.
#pragma once

#include <nlohmann/json.hpp>

#include <fstream>
#include <set>
#include <string>

#include "eval/result.h"
#include "eval/score.h"

namespace tritogen {

class EvalOutput {
 public:
  // `folder` may be empty: nothing is kept. Makes the folder, or reads what is in it. Throws UserError where
  // it holds another evaluation (other options), results that are none, or cannot be written.
  // `failures`, `answers`: JSONL files that wrong answers, and all answers as files, are appended to; may be
  // empty.
  EvalOutput(const std::string& folder, const nlohmann::ordered_json& options, const std::string& failures,
             const std::string& answers);

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
  std::ofstream results_, failures_, answers_;
  std::set<std::string> done_;
  eval::Score score_;
};

}  // namespace tritogen
