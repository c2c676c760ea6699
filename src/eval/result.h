// What became of one task, as a line of an evaluation's results (docs/formats/eval.md).
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "eval/attempts.h"
#include "eval/task.h"

namespace tritogen::eval {

// {"id", "group", "ops", "fingerprint", "graph_fingerprint", "reference_failed"?, "answers": [{"proposer",
// "number", "mends"?, "verdict", "rule"?, "reason"?, "plan_hash"?, "work_share"?, "speedup"?, "tokens"?}]}
nlohmann::ordered_json ResultOf(const Task& task, const Outcomes& outcomes);

// The answers that did not pass, with what they answered: {"id", "program", "reference", "answer", "verdict":
// {"verdict", "rule", "reason"}}, which training on repairs reads. Without those that the machine may be to
// blame for, those of proposers that write no text, and repairs, whose question was another one.
std::vector<nlohmann::ordered_json> FailuresOf(const Task& task, const Outcomes& outcomes);

// All answers that have code, as files: {"id", "proposer", "number", "strategy", "reference", "answer",
// "verdict": {"verdict", "rule", "reason"}}.
std::vector<nlohmann::ordered_json> FilesOf(const Task& task, const Outcomes& outcomes);

}  // namespace tritogen::eval
