#include "propose/policy_proposer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "propose/chat_model.h"

namespace tritogen {

PolicyProposer::PolicyProposer(std::unique_ptr<Proposer> model, PolicyOptions options)
    : model_(std::move(model)), options_(options) {
  TRITOGEN_CHECK(options.operations >= 0 && options.largest >= 0 && options.most >= 0);
}

bool PolicyProposer::IsRefused(const ProposeRequest& request) {
  TRITOGEN_CHECK(request.program != nullptr);
  const int64_t count = std::ranges::count(request.program->nodes, NodeKind::kOp, &Node::kind);
  if (options_.most == 0 || count <= options_.most) return false;
  remarks_.push_back(
      fmt::format("{}: not asked: the program has {} operations, and answers to more than {} take long "
                  "without a GPU (--proposer {} asks it all the same)",
                  name(), count, options_.most, name()));
  return true;
}

AskedProgram PolicyProposer::Asked(const ProposeRequest& request) const {
  ChatModel* model = model_->chat();
  return {request, options_, model != nullptr ? model->model() : std::string(name())};
}

void PolicyProposer::Ask(const std::string& id, const AskedProgram& asked, size_t question) {
  model_->Begin(fmt::format("{}/{}", id, question), asked.RequestFor(question));
}

void PolicyProposer::Begin(std::string id, const ProposeRequest& request) {
  if (IsRefused(request)) {
    ready_.push_back({.id = std::move(id)});
    return;
  }
  if (IsAskedPlainly(*request.program, options_)) return model_->Begin(std::move(id), request);
  const auto [open, fresh] = open_.emplace(id, Asked(request));
  TRITOGEN_CHECK(fresh);
  const AskedProgram& asked = open->second;
  if (asked.questions() == 0) {  // there is nothing but views, or nothing to repair
    ready_.push_back({.id = std::move(id)});
    open_.erase(open);
    return;
  }
  for (size_t i = 0; i < asked.questions(); ++i) Ask(id, asked, i);
}

// When nothing is waited for, parts are asked about again, or the program has its last candidates.
void PolicyProposer::GoOn(Open::iterator open, Proposal* proposal) {
  AskedProgram& asked = open->second;
  if (asked.waits()) return;
  const std::vector<size_t> again = asked.AskAgain();
  for (const size_t question : again) Ask(open->first, asked, question);
  if (!again.empty()) return;
  for (Candidate& candidate : asked.Assembled()) proposal->candidates.push_back(std::move(candidate));
  proposal->last = true;
  open_.erase(open);
}

std::optional<Proposal> PolicyProposer::Next(double timeout_seconds) {
  if (!ready_.empty()) {
    Proposal proposal = std::move(ready_.front());
    ready_.pop_front();
    return proposal;
  }
  auto answers = model_->Next(timeout_seconds);
  if (!answers) return std::nullopt;
  const size_t slash = answers->id.rfind('/');
  if (slash == std::string::npos) return answers;
  Proposal proposal{.id = answers->id.substr(0, slash), .last = false};
  const auto open = open_.find(proposal.id);
  if (open == open_.end()) return proposal;  // cancelled before
  AskedProgram& asked = open->second;
  const size_t question = std::stoul(answers->id.substr(slash + 1));
  for (Candidate& answer : answers->candidates) {
    if (auto candidate = asked.Take(question, std::move(answer)))
      proposal.candidates.push_back(std::move(*candidate));
  }
  if (answers->last) asked.TakeLast();
  proposal.pieces = asked.TakePieces();
  GoOn(open, &proposal);
  return proposal;
}

void PolicyProposer::PieceJudged(std::string_view id, int64_t piece, bool passed) {
  const auto open = open_.find(id);
  if (open == open_.end()) return;
  open->second.Judged(piece, passed);
  Proposal proposal{.id = std::string(id), .last = false};
  GoOn(open, &proposal);
  if (proposal.last) ready_.push_back(std::move(proposal));
}

void PolicyProposer::Cancel() {
  model_->Cancel();
  open_.clear();
  ready_.clear();
}

std::vector<std::string> PolicyProposer::TakeRemarks() {
  std::vector<std::string> remarks = std::exchange(remarks_, {});
  for (std::string& remark : model_->TakeRemarks()) remarks.push_back(std::move(remark));
  return remarks;
}

std::vector<Candidate> PolicyProposer::Propose(const ProposeRequest& request) {
  return ProposeAll({&request, 1})[0];
}

std::vector<std::vector<Candidate>> PolicyProposer::ProposeAll(std::span<const ProposeRequest> requests) {
  // The model's ProposeAll, which shows progress and can be given up, with questions in place of requests.
  struct Question {
    size_t request, question = 0;
  };
  std::map<size_t, AskedProgram> open;
  std::vector<Question> questions;
  std::vector<ProposeRequest> all;
  for (size_t i = 0; i < requests.size(); ++i) {
    TRITOGEN_CHECK(!requests[i].judges_pieces);  // nobody could hand one over here
    if (IsRefused(requests[i])) continue;
    if (IsAskedPlainly(*requests[i].program, options_)) {
      questions.push_back({i});
      all.push_back(requests[i]);
      continue;
    }
    const AskedProgram& asked = open.emplace(i, Asked(requests[i])).first->second;
    for (size_t question = 0; question < asked.questions(); ++question) {
      questions.push_back({i, question});
      all.push_back(asked.RequestFor(question));
    }
  }
  std::vector<std::vector<Candidate>> answers = model_->ProposeAll(all), candidates(requests.size());
  for (size_t i = 0; i < questions.size(); ++i) {
    const auto asked = open.find(questions[i].request);
    for (Candidate& answer : answers[i]) {
      std::optional<Candidate> candidate = asked == open.end()
                                               ? std::optional(std::move(answer))
                                               : asked->second.Take(questions[i].question, std::move(answer));
      if (candidate) candidates[questions[i].request].push_back(std::move(*candidate));
    }
  }
  return candidates;
}

}  // namespace tritogen
