// The loop of an evaluation: tasks go to the proposers as fast as they take them, answers to the judges.
#pragma once

#include <functional>
#include <vector>

#include "eval/attempts.h"
#include "eval/task.h"

namespace tritogen::eval {

struct EvaluateRun {
  std::vector<Proposer*> proposers;
  JudgePool* pool = nullptr;
  int samples = 8;  // of each proposer for each task
  uint64_t seed = 1;
  VerifyOptions verification;  // its seed is set for each task
  Repair repair = Repair::kNever;
  int64_t asked_at_once = 16;  // tasks: enough to keep a model's batches full
  // On the thread of Evaluate, after each task, in the order in which they are done.
  std::function<void(const Task&, const Outcomes&)> on_outcomes;
  struct Counts {
    int64_t tasks = 0, written = 0, judged = 0;  // tasks done; answers
  };
  std::function<void(const Counts&)> progress = [](const Counts&) {};  // several times a second
  std::function<bool()> stop = [] { return false; };
};

// False: it was stopped; tasks on their way are lost. `remarks`: what went wrong beside the answers. What a
// task's answers are asked and judged with depends on its id and the seed alone. Throws as proposers and the
// pool do.
bool Evaluate(const std::vector<const Task*>& tasks, const EvaluateRun& run,
              std::vector<std::string>* remarks);

}  // namespace tritogen::eval
