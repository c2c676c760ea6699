#include "eval/attempts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/splitmix.h"

namespace tritogen::eval {
namespace {

using Clock = std::chrono::steady_clock;

// How long answers are gathered before judges are looked after, and the other way round.
constexpr double kTurnSeconds = 0.02;

double SecondsUntil(Clock::time_point time) {
  return std::chrono::duration<double>(time - Clock::now()).count();
}

Clock::time_point After(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// What became of a candidate without a source: a verdict of its own.
JudgeReply NoAnswerReply(const Candidate& candidate) {
  const size_t colon = candidate.no_answer.find(": ");
  return {.verdict = {{"verdict", "no_answer"},
                      {"rule", candidate.no_answer.substr(0, colon)},
                      {"reason", candidate.no_answer.substr(colon + 2)}},
          .outcome = "no_answer"};
}

// "17:3" → 17 and 3; "17" → 17 and −1.
std::pair<int64_t, int64_t> Places(const std::string& id) {
  const size_t colon = id.find(':');
  return {std::stoll(id), colon == std::string::npos ? -1 : std::stoll(id.substr(colon + 1))};
}

}  // namespace

struct Attempts::Way {
  int proposals = 0;  // requests whose last proposal is to come
  int judging = 0;    // attempts at the judges
  int answers = 0;    // of the first request
  bool repaired = false, over = false;
};

struct Attempts::Open {
  Problem problem;
  int64_t ticket = 0;
  ProposeRequest request;
  std::vector<Way> ways;         // by proposer
  std::deque<Attempt> attempts;  // their places in memory last
  std::unordered_map<std::string, size_t> by_source;
  std::map<size_t, std::vector<size_t>> equals;  // attempts that wait for another one's verdict
  std::vector<bool> tried_again;
  int asking = 0;  // requests of all ways
};

Attempts::Attempts(std::vector<Proposer*> proposers, JudgePool* pool, AttemptOptions options)
    : proposers_(std::move(proposers)), left_out_(proposers_.size(), false), pool_(pool), options_(options) {}

Attempts::~Attempts() = default;

void Attempts::Start(Problem problem) {
  auto open = std::make_unique<Open>();
  open->problem = std::move(problem);
  open->ticket = next_ticket_++;
  const Problem& p = open->problem;
  open->request = {.reference = p.plan.get(),
                   .program = p.program.get(),
                   .reference_source = p.reference.text,
                   .entry = p.reference.entry,
                   .is_function = p.reference.is_function,
                   .strict = p.verification.mode == Mode::kStrict,
                   .fp32_precision = p.verification.fp32_precision,
                   .seed = p.seed,
                   .count = p.count,
                   .judges_pieces = true};
  open->ways.resize(proposers_.size());
  Open* at = open.get();
  open_[at->ticket] = std::move(open);
  ++asking_;
  ++at->asking;  // nothing is over before all have been asked
  for (size_t i = 0; i < proposers_.size(); ++i) {
    if (left_out_[i]) {
      at->ways[i].over = true;
      continue;
    }
    ++at->ways[i].proposals;
    ++at->asking;
    try {
      proposers_[i]->Begin(std::to_string(at->ticket), at->request);
    } catch (const UserError& error) {
      LeaveOut(i, error.what());
    }
  }
  asking_ -= --at->asking == 0;
  Close(at);
}

std::optional<Outcomes> Attempts::Next(double timeout_seconds) {
  const auto end = After(timeout_seconds);
  while (true) {
    const bool busy = pool_->unfinished() > 0;
    TakeProposals(busy ? 0 : std::clamp(SecondsUntil(end), 0.0, kTurnSeconds));
    if (pool_->unfinished() > 0) {
      const double turn = asking_ > 0 ? kTurnSeconds : 0.5;
      if (auto reply = pool_->Next(std::clamp(SecondsUntil(end), 0.0, turn))) TakeReply(std::move(*reply));
    }
    if (!done_.empty()) {
      Outcomes outcomes = std::move(done_.front());
      done_.pop_front();
      return outcomes;
    }
    if (open_.empty() || SecondsUntil(end) <= 0) return std::nullopt;
  }
}

// What is there, for a moment; waits so long for the first of it.
bool Attempts::TakeProposals(double timeout_seconds) {
  const auto end = After(kTurnSeconds);
  bool any = false;
  for (size_t i = 0; i < proposers_.size() && asking_ > 0; ++i) {
    try {
      while (!left_out_[i]) {
        auto proposal = proposers_[i]->Next(any ? 0 : timeout_seconds);
        if (!proposal) break;
        any = true;
        TakeProposal(i, std::move(*proposal));
        if (SecondsUntil(end) <= 0) break;
      }
    } catch (const UserError& error) {
      LeaveOut(i, error.what());
    }
  }
  return any;
}

void Attempts::TakeProposal(size_t proposer, Proposal proposal) {
  const auto [ticket, mends] = Places(proposal.id);
  const auto found = open_.find(ticket);
  if (found == open_.end()) return;
  Open* open = found->second.get();
  Way& way = open->ways[proposer];
  for (Candidate& candidate : proposal.candidates) {
    Attempt& attempt = open->attempts.emplace_back();
    attempt.proposer = proposer;
    attempt.candidate = std::move(candidate);
    if (mends >= 0) attempt.mends = static_cast<size_t>(mends);
    if (attempt.candidate.number < 0) attempt.candidate.number = way.answers;
    way.answers += mends < 0;
    ++written_;
    Judge(open, open->attempts.size() - 1);
  }
  for (Piece& piece : proposal.pieces) JudgePiece(*open, proposer, std::move(piece));
  if (proposal.last) {
    --way.proposals;
    asking_ -= --open->asking == 0;
  }
  GoOn(open, proposer);
}

void Attempts::Judge(Open* open, size_t place) {
  const Attempt& attempt = open->attempts[place];
  open->tried_again.resize(open->attempts.size());
  ++open->ways[attempt.proposer].judging;
  if (!attempt.candidate.no_answer.empty()) return Settle(open, place, NoAnswerReply(attempt.candidate));
  const auto [first, fresh] = open->by_source.emplace(attempt.candidate.source, place);
  if (!fresh) {
    const Attempt& equal = open->attempts[first->second];
    if (equal.reply.outcome.empty()) {
      open->equals[first->second].push_back(place);
    } else {
      Settle(open, place, equal.reply);
    }
    return;
  }
  pool_->Submit(fmt::format("{}:{}", open->ticket, place),
                {open->problem.reference,
                 {attempt.candidate.source, attempt.candidate.entry, false},
                 open->problem.verification},
                options_.want_plans);
}

// Nothing waits for it but its proposer, whose last proposal is to come. It is not timed.
void Attempts::JudgePiece(const Open& open, size_t proposer, Piece piece) {
  VerifyOptions verification = open.problem.verification;
  verification.timing_samples = 0;
  std::string job = fmt::format("piece {}", next_piece_++);
  pieces_.emplace(job, PieceOf{open.ticket, proposer, piece.number});
  pool_->Submit(std::move(job), {{std::move(piece.reference), "Model", false},
                                 {std::move(piece.source), "ModelNew", false},
                                 verification});
}

void Attempts::TakeReply(JudgeReply reply) {
  if (const auto piece = pieces_.extract(reply.id)) {
    const PieceOf& of = piece.mapped();
    // A reference that does not run tells nothing about an answer.
    const bool passed = reply.outcome == "passed" || reply.reference_failed;
    return proposers_[of.proposer]->PieceJudged(std::to_string(of.ticket), of.number, passed);
  }
  const auto [ticket, attempt] = Places(reply.id);
  const auto found = open_.find(ticket);
  if (found == open_.end()) return;
  Open* open = found->second.get();
  const auto place = static_cast<size_t>(attempt);
  const Candidate& candidate = open->attempts[place].candidate;
  if (options_.again && MayBeTheMachine(reply) && !open->tried_again[place]) {
    open->tried_again[place] = true;
    pool_->Submit(
        reply.id,
        {open->problem.reference, {candidate.source, candidate.entry, false}, open->problem.verification},
        options_.want_plans);
    return;
  }
  const auto equals = open->equals.extract(place);
  if (!equals.empty()) {
    for (const size_t equal : equals.mapped()) Settle(open, equal, reply);
  }
  const size_t proposer = open->attempts[place].proposer;
  Settle(open, place, std::move(reply));
  std::vector<size_t> ways = {proposer};
  if (!equals.empty()) {
    for (const size_t equal : equals.mapped()) ways.push_back(open->attempts[equal].proposer);
  }
  std::ranges::sort(ways);
  ways.erase(std::unique(ways.begin(), ways.end()), ways.end());
  for (const size_t way : ways) {
    if (!open_.contains(ticket)) return;
    GoOn(open, way);
  }
}

void Attempts::Settle(Open* open, size_t place, JudgeReply reply) {
  Attempt& attempt = open->attempts[place];
  attempt.reply = std::move(reply);
  --open->ways[attempt.proposer].judging;
  ++judged_;
}

// A way whose answers have all been judged ends, or goes once more, with repairs.
void Attempts::GoOn(Open* open, size_t proposer) {
  Way& way = open->ways[proposer];
  if (way.over || way.proposals > 0 || way.judging > 0) return;
  if (!way.repaired && StartRepairs(open, proposer)) return;
  way.over = true;
  Close(open);
}

// Whether there is anything to repair.
bool Attempts::StartRepairs(Open* open, size_t proposer) {
  Way& way = open->ways[proposer];
  way.repaired = true;
  if (options_.repair == Repair::kNever || !proposers_[proposer]->repairs() || left_out_[proposer])
    return false;
  const auto mine = [proposer](const Attempt& attempt) { return attempt.proposer == proposer; };
  const bool any_passed = std::ranges::any_of(
      open->attempts, [&](const Attempt& attempt) { return mine(attempt) && attempt.passed(); });
  if (any_passed && options_.repair == Repair::kWhenNonePassed) return false;
  std::vector<size_t> wrong;
  for (size_t i = 0; i < open->attempts.size(); ++i) {
    const Attempt& attempt = open->attempts[i];
    // An answer that ran out of room has none for a second one, and a fault of ours is not the answer's.
    const bool hopeless = attempt.candidate.no_answer.starts_with("cut_off") ||
                          attempt.reply.outcome == "infra_error" || attempt.reply.reference_failed;
    if (mine(attempt) && !attempt.passed() && !hopeless) wrong.push_back(i);
  }
  if (wrong.empty()) return false;
  asking_ += open->asking == 0;
  open->asking += static_cast<int>(wrong.size());
  way.proposals += static_cast<int>(wrong.size());
  for (const size_t i : wrong) {
    ProposeRequest request = open->request;
    request.wrong = &open->attempts[i].candidate;
    request.verdict = &open->attempts[i].reply.verdict;
    request.seed = SplitMix::At(open->request.seed, i);
    request.count = 1;
    try {
      proposers_[proposer]->Begin(fmt::format("{}:{}", open->ticket, i), request);
    } catch (const UserError& error) {
      LeaveOut(proposer, error.what());  // which ends this way, and may end the problem
      return true;
    }
  }
  return true;
}

void Attempts::LeaveOut(size_t proposer, const std::string& why) {
  if (proposers_.size() == 1) throw UserError(why);
  left_out_[proposer] = true;
  remarks_.push_back(fmt::format("{}: {}", proposers_[proposer]->name(), why));
  std::vector<Open*> all;
  for (const auto& [ticket, open] : open_) all.push_back(open.get());
  for (Open* open : all) {
    Way& way = open->ways[proposer];
    const bool asked = open->asking > 0;
    open->asking -= way.proposals;
    way.proposals = 0;
    way.repaired = true;
    asking_ -= asked && open->asking == 0;
    GoOn(open, proposer);
  }
}

void Attempts::Close(Open* open) {
  if (open->asking > 0) return;
  if (!std::ranges::all_of(open->ways, [](const Way& way) { return way.over; })) return;
  Outcomes outcomes;
  std::vector<size_t> order(open->attempts.size()), new_place(open->attempts.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](size_t i) {
    const Attempt& attempt = open->attempts[i];
    return std::tuple(
        attempt.mends.has_value(), attempt.proposer,
        attempt.mends ? open->attempts[*attempt.mends].candidate.number : attempt.candidate.number);
  };
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return key(a) < key(b); });
  for (size_t i = 0; i < order.size(); ++i) new_place[order[i]] = i;
  for (const size_t i : order) {
    Attempt& attempt = outcomes.attempts.emplace_back(std::move(open->attempts[i]));
    if (attempt.mends) attempt.mends = new_place[*attempt.mends];
  }
  outcomes.problem = std::move(open->problem);
  done_.push_back(std::move(outcomes));
  open_.erase(open->ticket);
}

void Attempts::Cancel() {
  pool_->Cancel();
  for (size_t i = 0; i < proposers_.size(); ++i) {
    try {
      if (!left_out_[i]) proposers_[i]->Cancel();
    } catch (const UserError&) {
      left_out_[i] = true;  // it is gone already
    }
  }
  open_.clear();
  pieces_.clear();
  asking_ = 0;
}

bool Attempts::failed() const {
  return std::ranges::count(left_out_, true) > 0 ||
         std::ranges::any_of(proposers_, [](const Proposer* proposer) { return proposer->failed(); });
}

std::vector<std::string> Attempts::TakeRemarks() {
  std::vector<std::string> remarks = std::exchange(remarks_, {});
  for (Proposer* proposer : proposers_) {
    for (std::string& remark : proposer->TakeRemarks()) remarks.push_back(std::move(remark));
  }
  return remarks;
}

}  // namespace tritogen::eval
