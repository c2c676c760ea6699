// Answers that passed, as conversations to learn from: what was asked, word for word, and what was answered.
// Sampling, keeping what the verifier lets pass and training on it is rejection sampling fine-tuning (Yuan et
// al. 2023, arXiv 2308.01825, section 3.3).
#pragma once

#include <nlohmann/json.hpp>

#include <vector>

#include "eval/attempts.h"
#include "eval/task.h"

namespace tritogen::eval {

// Lines that sft reads as data (docs/training_data.md): {"messages": [{"role", "content"}, …], "id",
// "split"?, "ops", "proposer", "answers_passed": share of its proposer's first answers to this task that
// passed, 0 to 1, "repair": false}. One for each of a proposer's answers that passed and whose Plan is unlike
// those before it; then, with "repair": true, one for each unlike answer that did not, through no fault of
// the machine, with its verdict and one of the right answers in turn. Nothing for proposers that are not
// asked in words, and for answers that were put together of parts.
std::vector<nlohmann::ordered_json> ConversationsOf(const Task& task, const Outcomes& outcomes);

}  // namespace tritogen::eval
