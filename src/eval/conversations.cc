#include "eval/conversations.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "report/verdict_view.h"
#include "text/chat_template.h"
#include "text/prompt.h"

namespace tritogen::eval {
namespace {

using nlohmann::ordered_json;

// Of one proposer. An answer that ran out of room is no beginning of a conversation.
struct Unlike {
  std::vector<const Attempt*> right, wrong;
  int64_t first = 0, passed = 0;  // answers, without repairs
};

Unlike UnlikeOf(const Outcomes& outcomes, size_t proposer) {
  Unlike unlike;
  std::set<std::string> seen;
  for (const Attempt& attempt : outcomes.attempts) {
    if (attempt.proposer != proposer || MayBeTheMachine(attempt.reply) || attempt.reply.reference_failed)
      continue;
    unlike.first += !attempt.mends;
    unlike.passed += !attempt.mends && attempt.passed();
    const Candidate& candidate = attempt.candidate;
    if (candidate.answer.empty() || candidate.no_answer.starts_with("cut_off")) continue;
    if (attempt.passed()) {
      if (seen.insert("plan " + TextIn(attempt.reply.verdict, "plan_hash")).second)
        unlike.right.push_back(&attempt);
    } else if (!attempt.mends && seen.insert("text " + candidate.answer).second) {
      unlike.wrong.push_back(&attempt);
    }
  }
  return unlike;
}

}  // namespace

std::vector<ordered_json> ConversationsOf(const Task& task, const Outcomes& outcomes) {
  std::vector<ordered_json> lines;
  std::set<size_t> proposers;
  for (const Attempt& attempt : outcomes.attempts) proposers.insert(attempt.proposer);
  for (const size_t proposer : proposers) {
    const Unlike unlike = UnlikeOf(outcomes, proposer);
    if (unlike.right.empty()) continue;
    const double share =
        unlike.first > 0 ? static_cast<double>(unlike.passed) / static_cast<double>(unlike.first) : 0;
    const auto add = [&](std::vector<ChatMessage> messages, const Attempt& right, bool repair) {
      messages.push_back({"assistant", right.candidate.answer});
      ordered_json line = {{"messages", ToJson(messages)},
                           {"id", fmt::format("{}#{}", task.id, lines.size())}};
      if (!task.split.empty()) line["split"] = task.split;
      line["ops"] = task.ops;
      line["proposer"] = right.candidate.proposer;
      line["answers_passed"] = share;
      line["repair"] = repair;
      lines.push_back(std::move(line));
    };
    for (const Attempt* right : unlike.right) add(right->candidate.asked, *right, right->mends.has_value());
    for (size_t i = 0; i < unlike.wrong.size(); ++i) {
      const Attempt& wrong = *unlike.wrong[i];
      const nlohmann::json& verdict = wrong.reply.verdict;
      std::vector<ChatMessage> messages = wrong.candidate.asked;
      AskForRepair(&messages, wrong.candidate.answer, wrong.reply.outcome, TextIn(verdict, "rule"),
                   TextIn(verdict, "reason"));
      add(std::move(messages), *unlike.right[i % unlike.right.size()], true);
    }
  }
  return lines;
}

}  // namespace tritogen::eval
