#include "eval/evaluate.h"

#include <algorithm>
#include <map>

#include "base/sha256.h"
#include "base/splitmix.h"

namespace tritogen::eval {
namespace {

constexpr int64_t kMostAtJudges = 8192;  // answers that wait: a judge is never without, memory stays small

uint64_t SeedOf(const Task& task, uint64_t seed) {
  return SplitMix::At(seed, std::stoull(Sha256Hex(task.id).substr(0, 15), nullptr, 16));
}

Problem ProblemOf(const Task& task, const EvaluateRun& run) {
  Problem problem{.id = task.id,
                  .reference = task.reference,
                  .program = task.program,
                  .plan = task.plan,
                  .count = run.samples,
                  .seed = SeedOf(task, run.seed),
                  .verification = run.verification};
  problem.verification.seed = SeedOf(task, ~run.seed) >> 11 | 1;
  return problem;
}

}  // namespace

bool Evaluate(const std::vector<const Task*>& tasks, const EvaluateRun& run,
              std::vector<std::string>* remarks) {
  Attempts attempts(run.proposers, run.pool, {.repair = run.repair, .again = true});
  std::map<std::string_view, const Task*> by_id;
  for (const Task* task : tasks) by_id[task->id] = task;
  int64_t done = 0;
  for (size_t next = 0; next < tasks.size() || attempts.unfinished() > 0;) {
    if (run.stop()) {
      attempts.Cancel();
      return false;
    }
    while (next < tasks.size() && attempts.asking() < run.asked_at_once &&
           attempts.written() - attempts.judged() < kMostAtJudges)
      attempts.Start(ProblemOf(*tasks[next++], run));
    if (const auto outcomes = attempts.Next(0.1)) {
      ++done;
      run.on_outcomes(*by_id.at(outcomes->problem.id), *outcomes);
    }
    run.progress({done, attempts.written(), attempts.judged()});
  }
  for (std::string& remark : attempts.TakeRemarks()) remarks->push_back(std::move(remark));
  return true;
}

}  // namespace tritogen::eval
