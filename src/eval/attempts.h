// Attempts: proposers write answers to problems and judges judge them, side by side, many problems at a time.
// What did not pass may go back to its proposer once, with the verdict.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "judge/judge_pool.h"
#include "propose/proposer.h"

namespace tritogen::eval {

struct Problem {
  std::string id;  // for the caller
  SourceFile reference;
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Plan> plan;  // of the reference; null: forward takes the program's inputs
  int count = 8;                     // answers of each proposer, at most
  uint64_t seed = 0;                 // of the proposers
  VerifyOptions verification;
};

struct Attempt {
  size_t proposer = 0;  // its place
  Candidate candidate;
  // Its verdict is "no_answer" where the candidate has no source. Equal sources of one problem are judged
  // once.
  JudgeReply reply;
  std::optional<size_t> mends;  // of a repair: which attempt was wrong
  bool passed() const { return reply.outcome == "passed"; }
};

struct Outcomes {
  Problem problem;
  std::vector<Attempt> attempts;  // by proposer, then by number; repairs behind all of them
};

enum class Repair {
  kNever,
  kWhenNonePassed,  // of a proposer's answers to a problem: then each of them
  kAlways           // every answer that did not pass
};

struct AttemptOptions {
  Repair repair = Repair::kNever;
  bool want_plans = false;  // in replies
  bool again = false;       // what may have been the machine's fault is judged once more
};

class Attempts {
 public:
  // All must outlive it. A proposer that fails altogether (UserError) is left out from then on, with a
  // remark, unless it is the only one.
  Attempts(std::vector<Proposer*> proposers, JudgePool* pool, AttemptOptions options);
  ~Attempts();

  void Start(Problem problem);
  // The next problem whose attempts have all been judged. Nothing after `timeout_seconds`, or when none is
  // left.
  std::optional<Outcomes> Next(double timeout_seconds);
  int64_t unfinished() const { return static_cast<int64_t>(open_.size() + done_.size()); }
  // Of these, problems for which answers are still to come.
  int64_t asking() const { return asking_; }
  int64_t written() const { return written_; }  // answers so far
  int64_t judged() const { return judged_; }    // of them
  void Cancel();
  // A proposer was left out, or something that it needs has failed.
  bool failed() const;
  std::vector<std::string> TakeRemarks();

 private:
  struct Open;
  struct Way;  // of one proposer through one problem
  struct PieceOf {
    int64_t ticket;
    size_t proposer;
    int64_t number;
  };

  bool TakeProposals(double timeout_seconds);
  void TakeProposal(size_t proposer, Proposal proposal);
  void TakeReply(JudgeReply reply);
  void JudgePiece(const Open& open, size_t proposer, Piece piece);
  void Judge(Open* open, size_t attempt);
  void Settle(Open* open, size_t attempt, JudgeReply reply);
  void GoOn(Open* open, size_t proposer);
  bool StartRepairs(Open* open, size_t proposer);
  void LeaveOut(size_t proposer, const std::string& why);
  void Close(Open* open);

  std::vector<Proposer*> proposers_;
  std::vector<bool> left_out_;
  JudgePool* pool_;
  AttemptOptions options_;
  std::map<int64_t, std::unique_ptr<Open>> open_;  // by ticket
  std::map<std::string, PieceOf> pieces_;          // at the judges, by the job's id
  std::deque<Outcomes> done_;
  std::vector<std::string> remarks_;
  int64_t next_ticket_ = 0, next_piece_ = 0, asking_ = 0, written_ = 0, judged_ = 0;
};

}  // namespace tritogen::eval
