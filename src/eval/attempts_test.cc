#include "eval/attempts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "program/parse.h"

namespace tritogen::eval {
namespace {

// What judges of these tests say: "right" passes, "crash" ends the judge, everything else is wrong.
Judgement Judged(const JudgeRequest& request, const FindVerdict&) {
  const std::string& text = request.candidate.text;
  if (text == "crash") _exit(3);
  Judgement judgement;
  judgement.verdict.outcome = text.starts_with("right") ? Outcome::kPassed : Outcome::kWrongValues;
  judgement.verdict.reason = "as " + text;
  judgement.verdict.plan_hash = text;
  judgement.reference_failed = text == "no reference";
  return judgement;
}

// Answers in the order of a script; repairs are the wrong source with its verdict.
class Script : public Proposer {
 public:
  explicit Script(std::vector<std::string> sources, bool repairs = true, std::string name = "script")
      : sources_(std::move(sources)), repairs_(repairs), name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  bool repairs() const override { return repairs_; }
  std::vector<Candidate> Propose(const ProposeRequest& request) override {
    ++asked;
    if (fails) throw UserError("no such luck");
    if (request.wrong != nullptr)
      return {Made("right after " + request.wrong->source + " " +
                   request.verdict->at("verdict").get<std::string>())};
    std::vector<Candidate> candidates;
    for (const std::string& source : sources_) candidates.push_back(Made(source));
    return candidates;
  }
  int asked = 0;
  bool fails = false;

 private:
  Candidate Made(const std::string& source) const {
    Candidate candidate{.proposer = name_, .source = source};
    if (source.starts_with("none: ")) {
      candidate.no_answer = source.substr(6);
      candidate.source.clear();
    }
    return candidate;
  }
  std::vector<std::string> sources_;
  bool repairs_;
  std::string name_;
};

Problem ProblemCalled(const std::string& id) {
  static const auto program =
      std::make_shared<const Program>(ParseProgram("import torch\n\n\ndef program(x):\n    # x: float32[4]\n "
                                                   "   y = torch.relu(x)  # float32[4]\n    return y\n"));
  return {.id = id,
          .reference = {"reference", "Model", false},
          .program = program,
          .verification = {.budget_seconds = 5}};
}

std::vector<Outcomes> All(Attempts* attempts) {
  std::vector<Outcomes> all;
  while (attempts->unfinished() > 0) {
    if (auto one = attempts->Next(5)) all.push_back(std::move(*one));
  }
  return all;
}

std::vector<std::string> Verdicts(const Outcomes& outcomes) {
  std::vector<std::string> verdicts;
  for (const Attempt& attempt : outcomes.attempts) verdicts.push_back(attempt.reply.outcome);
  return verdicts;
}

class AttemptsTest : public testing::Test {
 protected:
  JudgePool pool{[] { return JudgeFunction(Judged); }, 2};
};
using Words = std::vector<std::string>;

TEST_F(AttemptsTest, EveryAnswerGetsItsVerdict) {
  Script script({"right", "wrong", "none: no_code: the answer has no code", "crash", "right", "wrong"});
  Attempts attempts({&script}, &pool, {});
  for (int i = 0; i < 20; ++i) attempts.Start(ProblemCalled(std::to_string(i)));
  const auto all = All(&attempts);
  ASSERT_EQ(all.size(), 20u);
  for (const Outcomes& one : all)
    EXPECT_EQ(Verdicts(one),
              (Words{"passed", "wrong_values", "no_answer", "killed", "passed", "wrong_values"}));
  EXPECT_EQ(all[0].attempts[2].reply.verdict["rule"], "no_code");
  EXPECT_EQ(all[0].attempts[2].reply.verdict["reason"], "the answer has no code");
  EXPECT_EQ(attempts.judged(), 120);
}

TEST_F(AttemptsTest, RepairsOnceWhatDidNotPass) {
  Script script({"wrong", "none: no_kernel: why", "none: cut_off: why"});
  Attempts attempts({&script}, &pool, {.repair = Repair::kWhenNonePassed});
  attempts.Start(ProblemCalled("p"));
  const auto all = All(&attempts);
  EXPECT_EQ(Verdicts(all.at(0)), (Words{"wrong_values", "no_answer", "no_answer", "passed", "passed"}));
  EXPECT_EQ(all[0].attempts[3].candidate.source, "right after wrong wrong_values");
  EXPECT_EQ(all[0].attempts[3].mends, 0u);
  EXPECT_EQ(all[0].attempts[4].mends, 1u);
  EXPECT_EQ(script.asked, 3);
}

TEST_F(AttemptsTest, WhenToRepair) {
  Script one({"right", "wrong"}), none({"wrong"}, false);
  Attempts sometimes({&one}, &pool, {.repair = Repair::kWhenNonePassed});
  sometimes.Start(ProblemCalled("p"));
  EXPECT_EQ(All(&sometimes).at(0).attempts.size(), 2u);
  Attempts always({&one, &none}, &pool, {.repair = Repair::kAlways});
  always.Start(ProblemCalled("p"));
  EXPECT_EQ(Verdicts(All(&always).at(0)), (Words{"passed", "wrong_values", "wrong_values", "passed"}));
}

TEST_F(AttemptsTest, ProposersStandInTheirOrderAndEqualSourcesAreJudgedOnce) {
  Script first({"right", "crash"}, true, "a"), second({"right"}, true, "b"), nothing({}, true, "c");
  Attempts attempts({&first, &second, &nothing}, &pool, {});
  attempts.Start(ProblemCalled("p"));
  const auto all = All(&attempts);
  EXPECT_EQ(Verdicts(all.at(0)), (Words{"passed", "killed", "passed"}));
  EXPECT_EQ(all[0].attempts[2].candidate.proposer, "b");
  EXPECT_EQ(all[0].attempts[2].reply.id, all[0].attempts[0].reply.id);
}

TEST_F(AttemptsTest, AProposerThatFailsIsLeftOutUnlessItIsAlone) {
  Script broken({"right"}, true, "broken"), whole({"right"}, true, "whole");
  broken.fails = true;
  Attempts both({&broken, &whole}, &pool, {});
  for (int i = 0; i < 3; ++i) both.Start(ProblemCalled(std::to_string(i)));
  for (const Outcomes& one : All(&both)) EXPECT_EQ(Verdicts(one), Words{"passed"});
  EXPECT_EQ(both.TakeRemarks(), Words{"broken: no such luck"});
  EXPECT_EQ(broken.asked, 1);
  Attempts alone({&broken}, &pool, {});
  alone.Start(ProblemCalled("p"));
  EXPECT_THROW(alone.Next(5), UserError);
}

TEST_F(AttemptsTest, AFaultOfTheMachineIsTriedAgain) {
  Script script({"crash"});
  Attempts attempts({&script}, &pool, {.again = true});
  attempts.Start(ProblemCalled("p"));
  EXPECT_EQ(Verdicts(All(&attempts).at(0)), Words{"killed"});
}

// Has two pieces judged before it answers, with a candidate that says what became of them.
class InPieces : public Proposer {
 public:
  std::string_view name() const override { return "in pieces"; }
  std::vector<Candidate> Propose(const ProposeRequest&) override { return {}; }
  void Begin(std::string id, const ProposeRequest& request) override {
    EXPECT_TRUE(request.judges_pieces);
    proposals_.push_back({.id = id,
                          .pieces = {{7, "a part", "right piece"},
                                     {8, "a part", "no reference"},
                                     {9, "a part", "a wrong one"}},
                          .last = false});
  }
  std::optional<Proposal> Next(double) override {
    if (proposals_.empty()) return std::nullopt;
    Proposal proposal = std::move(proposals_.front());
    proposals_.pop_front();
    return proposal;
  }
  void PieceJudged(std::string_view id, int64_t piece, bool passed) override {
    verdicts_[piece] = passed;
    if (verdicts_.size() < 3) return;
    std::string source = "right after";
    for (const auto& [number, is_right] : verdicts_) source += fmt::format(" {}:{:d}", number, is_right);
    proposals_.push_back(
        {.id = std::string(id), .candidates = {Candidate{.proposer = "in pieces", .source = source}}});
  }

 private:
  std::deque<Proposal> proposals_;
  std::map<int64_t, bool> verdicts_;
};

TEST(Attempts, PiecesAreJudgedForTheirProposer) {
  InPieces in_pieces;
  Script script({"right", "wrong"}, false);
  JudgePool pool([] { return Judged; }, 2);
  Attempts attempts({&in_pieces, &script}, &pool, {});
  attempts.Start(ProblemCalled("one"));
  const std::vector<Outcomes> all = All(&attempts);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(Verdicts(all[0]), (std::vector<std::string>{"passed", "passed", "wrong_values"}));
  EXPECT_EQ(all[0].attempts[0].candidate.source, "right after 7:1 8:1 9:0");
  EXPECT_EQ(attempts.written(), 3);
  EXPECT_EQ(attempts.judged(), 3);
}

}  // namespace
}  // namespace tritogen::eval
