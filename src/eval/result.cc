#include "eval/result.h"

#include "program/print.h"
#include "report/verdict_view.h"

namespace tritogen::eval {
namespace {

using nlohmann::ordered_json;

void AddText(ordered_json* object, const nlohmann::json& verdict, const char* key) {
  if (std::string text = TextIn(verdict, key); !text.empty()) (*object)[key] = std::move(text);
}

ordered_json AnswerOf(const Attempt& attempt) {
  const nlohmann::json& verdict = attempt.reply.verdict;
  ordered_json answer = {{"proposer", attempt.candidate.proposer}, {"number", attempt.candidate.number}};
  if (attempt.mends) answer["mends"] = *attempt.mends;
  answer["verdict"] = attempt.reply.outcome;
  AddText(&answer, verdict, "rule");
  if (!attempt.passed()) AddText(&answer, verdict, "reason");
  AddText(&answer, verdict, "plan_hash");
  if (attempt.passed()) answer["work_share"] = WorkShareIn(verdict);
  if (const auto speedup = SpeedupIn(verdict, EagerIn(verdict))) answer["speedup"] = *speedup;
  if (attempt.candidate.tokens) answer["tokens"] = *attempt.candidate.tokens;
  return answer;
}

ordered_json VerdictOf(const Attempt& attempt) {
  const nlohmann::json& verdict = attempt.reply.verdict;
  return {{"verdict", attempt.reply.outcome},
          {"rule", TextIn(verdict, "rule")},
          {"reason", TextIn(verdict, "reason")}};
}

}  // namespace

ordered_json ResultOf(const Task& task, const Outcomes& outcomes) {
  ordered_json result = {{"id", task.id}, {"group", task.group}, {"ops", task.ops}};
  if (!task.fingerprint.empty()) {
    result["fingerprint"] = task.fingerprint;
    result["graph_fingerprint"] = task.graph_fingerprint;
  }
  result["answers"] = ordered_json::array();
  for (const Attempt& attempt : outcomes.attempts) {
    if (attempt.reply.reference_failed) result["reference_failed"] = TextIn(attempt.reply.verdict, "reason");
    result["answers"].push_back(AnswerOf(attempt));
  }
  return result;
}

std::vector<ordered_json> FailuresOf(const Task& task, const Outcomes& outcomes) {
  std::vector<ordered_json> failures;
  for (const Attempt& attempt : outcomes.attempts) {
    const std::string& outcome = attempt.reply.outcome;
    if (attempt.passed() || attempt.mends || attempt.candidate.answer.empty() || outcome == "infra_error" ||
        attempt.reply.reference_failed)
      continue;
    failures.push_back({{"id", task.id},
                        {"program", PrintProgram(*task.program)},
                        {"reference", task.reference.text},
                        {"answer", attempt.candidate.answer},
                        {"verdict", VerdictOf(attempt)}});
  }
  return failures;
}

std::vector<ordered_json> FilesOf(const Task& task, const Outcomes& outcomes) {
  std::vector<ordered_json> files;
  for (const Attempt& attempt : outcomes.attempts) {
    if (attempt.candidate.source.empty()) continue;
    files.push_back({{"id", task.id},
                     {"proposer", attempt.candidate.proposer},
                     {"number", attempt.candidate.number},
                     {"strategy", attempt.candidate.strategy},
                     {"reference", task.reference.text},
                     {"answer", attempt.candidate.source},
                     {"verdict", VerdictOf(attempt)}});
  }
  return files;
}

}  // namespace tritogen::eval
