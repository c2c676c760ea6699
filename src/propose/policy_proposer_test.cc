#include "propose/policy_proposer.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include <set>

#include "program/parse.h"
#include "propose/language_proposer.h"
#include "propose/test_chat_model.h"

namespace tritogen {
namespace {

using Words = std::vector<std::string>;

// Answers each sample with a class that says which sample it is for, the last sample first; `no_code` takes
// the second answer away.
class Echo : public TestChatModel {
 public:
  void Submit(std::string id, const ChatRequest& request) override {
    asked.push_back(request);
    for (int i = 0; i < request.samples; ++i) {
      const std::string size = size_too ? LastSizeIn(request.messages[0].content) : "";
      const std::string text =
          "plan" + (size_too ? " of " + size + " columns" : "") +
          "\n\n```python\n@triton.jit\ndef kernel():\n    pass\n\n\nclass ModelNew:\n    " +
          std::to_string(i) + (size_too ? "\n    size = " + size : "") + "\n```";
      ChatReply reply{.content = no_code && i == 1 ? "no code" : text};
      reply.completion_tokens = 10;
      done.push_back({id, i, std::move(reply)});
    }
    // The last sample comes first: answers come in any order.
    std::reverse(done.end() - request.samples, done.end());
  }
  bool no_code = false, size_too = false;

 private:
  // "… float32[4, 37]\n    return relu\n": 37.
  static std::string LastSizeIn(const std::string& prompt) {
    const size_t end = prompt.rfind(']'), begin = prompt.rfind(' ', end) + 1;
    return prompt.substr(begin, end - begin);
  }
};

Program Chain(int operations) {
  std::string text = "import torch\n\n\ndef program(x):\n    # x: float32[4]\n", before = "x";
  for (int i = 0; i < operations; ++i) {
    const std::string name = "y" + std::to_string(i);
    text += "    " + name + " = torch.relu(" + before + ")  # float32[4]\n";
    before = name;
  }
  return ParseProgram(text + "    return " + before + "\n");
}

struct Asked {
  std::unique_ptr<PolicyProposer> proposer;
  Echo* model;
};

Asked Make(PolicyOptions options = {}) {
  auto model = std::make_unique<Echo>();
  Echo* raw = model.get();
  LanguageOptions language{.name = "policy", .prompt = FindPrompt("embedded"), .as_policy = true};
  auto whole = std::make_unique<LanguageProposer>(std::move(language), std::move(model));
  return {std::make_unique<PolicyProposer>(std::move(whole), options), raw};
}

std::map<int, Candidate> ByNumber(std::vector<Candidate> candidates) {
  std::map<int, Candidate> all;
  for (Candidate& one : candidates) all[one.number] = std::move(one);
  return all;
}

TEST(PolicyProposer, ShortProgramsAreAskedAboutAsAWhole) {
  const auto asked = Make();
  const Program program = Chain(3);
  EXPECT_EQ(asked.proposer->Propose({.program = &program, .count = 4}).size(), 4u);
  EXPECT_EQ(asked.model->asked.size(), 1u);
}

TEST(PolicyProposer, SampleIIsMadeOfTheIthAnswersAndPartsAreOfThreeLengths) {
  const auto asked = Make();
  const Program program = Chain(6);
  const auto candidates = ByNumber(asked.proposer->Propose({.program = &program, .count = 8}));
  ASSERT_EQ(candidates.size(), 8u);
  Words strategies;
  for (const auto& [number, candidate] : candidates) strategies.push_back(candidate.strategy);
  EXPECT_EQ(strategies, (Words{"m #1 in 2 parts", "m #2 in 2 parts", "m #3 in 3 parts", "m #4 in 6 parts",
                               "m #5 in 2 parts", "m #6 in 2 parts", "m #7 in 3 parts", "m #8 in 6 parts"}));
  EXPECT_EQ(asked.model->asked.size(), 2u + 3u + 6u);
  // Sample 4 is the third of those with two parts.
  const Candidate& one = candidates.at(4);
  EXPECT_NE(one.source.find("class Part1:\n    2\n"), std::string::npos) << one.source;
  EXPECT_NE(one.source.find("class Part2:\n    2\n"), std::string::npos);
  EXPECT_EQ(one.tokens, 20);
  EXPECT_EQ(one.answer, "");  // no text to mend
  EXPECT_EQ(one.plan, "Part 1.\nplan\n\nPart 2.\nplan");
}

TEST(PolicyProposer, ViewsStandInForwardInThreeSamplesOfFour) {
  const auto asked = Make();
  const Program program = ParseProgram(R"(import torch


def program(x):
    # x: float32[4, 6]
    relu = torch.relu(x)  # float32[4, 6]
    t = torch.t(relu)  # float32[6, 4]
    exp = torch.exp(t)  # float32[6, 4]
    neg = torch.neg(exp)  # float32[6, 4]
    return neg
)");
  const auto candidates = ByNumber(asked.proposer->Propose({.program = &program, .count = 4}));
  ASSERT_EQ(candidates.size(), 4u);
  for (const auto& [number, candidate] : candidates) {
    const bool in_forward = candidate.source.find("t = torch.t(relu)\n") != std::string::npos;
    EXPECT_EQ(in_forward, number != 1) << candidate.source;
  }
  std::set<uint64_t> seeds;
  for (const ChatRequest& question : asked.model->asked) EXPECT_TRUE(seeds.insert(question.seed).second);
}

TEST(PolicyProposer, WithoutOneOfItsPartsASampleHasNoAnswer) {
  const auto asked = Make();
  asked.model->no_code = true;
  const Program program = Chain(6);
  const auto candidates = ByNumber(asked.proposer->Propose({.program = &program, .count = 4}));
  EXPECT_EQ(candidates.at(0).no_answer, "");
  EXPECT_TRUE(candidates.at(1).no_answer.starts_with("no_code: of part 1: ")) << candidates.at(1).no_answer;
}

TEST(PolicyProposer, ARepairIsAnotherTryWithPartsOfOneOperation) {
  const auto asked = Make();
  const Program program = Chain(6);
  const Candidate wrong{.strategy = "m #2 in 2 parts"};
  const nlohmann::json verdict = {{"verdict", "wrong_values"}};
  const auto candidates =
      asked.proposer->Propose({.program = &program, .count = 1, .wrong = &wrong, .verdict = &verdict});
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(candidates[0].strategy, "m #2 in 2 parts again");
  EXPECT_EQ(asked.model->asked.size(), 6u);
}

TEST(PolicyProposer, ProposalsComeAsTheyAreMadeAndAreTheSame) {
  const auto asked = Make();
  const Program program = Chain(7), short_one = Chain(2);
  asked.proposer->Begin("3:1", {.program = &program, .count = 8});
  asked.proposer->Begin("4", {.program = &short_one, .count = 2});
  std::map<std::string, std::vector<Candidate>> candidates;
  std::map<std::string, int> last;
  while (auto proposal = asked.proposer->Next(0)) {
    EXPECT_EQ(last[proposal->id], 0) << "nothing comes behind the last";
    last[proposal->id] += proposal->last;
    for (Candidate& candidate : proposal->candidates)
      candidates[proposal->id].push_back(std::move(candidate));
  }
  EXPECT_EQ(last, (std::map<std::string, int>{{"3:1", 1}, {"4", 1}}));
  EXPECT_EQ(candidates["4"].size(), 2u);
  const auto streamed = ByNumber(std::move(candidates["3:1"]));
  const auto at_once = ByNumber(asked.proposer->Propose({.program = &program, .count = 8}));
  ASSERT_EQ(streamed.size(), 8u);
  for (const auto& [number, candidate] : at_once) EXPECT_EQ(streamed.at(number).source, candidate.source);
}

Program Large(bool product) {
  const std::string line = product ? "    mm = torch.mm(x, y)  # float32[4, 5000]\n    return mm\n"
                                   : "    add = torch.add(x, y)  # float32[4, 5000]\n    return add\n";
  const std::string x = product ? "float32[4, 3]" : "float32[4, 5000]";
  const std::string y = product ? "float32[3, 5000]" : "float32[4, 5000]";
  return ParseProgram("import torch\n\n\ndef program(x, y):\n    # x: " + x + "\n    # y: " + y + "\n" +
                      line);
}

TEST(PolicyProposer, LargeSizesAreAskedAboutAsSmallOnesByTurns) {
  const auto asked = Make();
  asked.model->size_too = true;
  const Program program = Large(true);
  const auto candidates = ByNumber(asked.proposer->Propose({.program = &program, .count = 4}));
  ASSERT_EQ(candidates.size(), 4u);
  ASSERT_EQ(asked.model->asked.size(), 2u);  // small, as they are
  EXPECT_EQ(asked.model->asked[0].messages[0].content.find("5000"), std::string::npos);
  EXPECT_NE(asked.model->asked[1].messages[0].content.find("float32[4, 5000]"), std::string::npos);
  for (const auto& [number, candidate] : candidates) {
    EXPECT_EQ(candidate.strategy,
              "m #" + std::to_string(number + 1) + (number % 2 == 0 ? " by small sizes" : ""));
    // The echo writes the program's second size into its class: taken back it is the real one.
    EXPECT_NE(candidate.source.find("size = 5000\n"), std::string::npos) << candidate.source;
    EXPECT_NE(candidate.plan.find("5000 columns"), std::string::npos) << candidate.plan;
  }
  const Program no_product = Large(false);
  for (const Program* as_it_is : {&program, &no_product}) {
    const PolicyOptions options{.largest = as_it_is == &program ? 5000 : 128};
    for (const Candidate& one : Make(options).proposer->Propose({.program = as_it_is, .count = 2}))
      EXPECT_EQ(one.strategy.size(), 4u) << one.strategy;  // "m #1", "m #2"
  }
}

TEST(PolicyProposer, PartsWithoutAProductKeepTheirSizes) {
  const auto asked = Make({.operations = 2});
  const Program program = ParseProgram(R"(import torch


def program(x, y):
    # x: float32[4, 3]
    # y: float32[3, 5000]
    mm = torch.mm(x, y)  # float32[4, 5000]
    relu = torch.relu(mm)  # float32[4, 5000]
    exp = torch.exp(relu)  # float32[4, 5000]
    sum = torch.sum(exp, dim=[1])  # float32[4]
    return sum
)");
  EXPECT_EQ(asked.proposer->Propose({.program = &program, .count = 2}).size(), 2u);
  int own = 0, small = 0;
  for (const ChatRequest& question : asked.model->asked) {
    const bool is_own = question.messages[0].content.find("5000") != std::string::npos;
    (is_own ? own : small) += 1;
    EXPECT_TRUE(is_own || question.messages[0].content.find("mm") != std::string::npos);
  }
  EXPECT_EQ(own, 2);  // both parts
  EXPECT_EQ(small, 1);
}

// Candidates of a program whose pieces are judged by `passes`.
std::vector<Candidate> JudgedInPieces(PolicyProposer* proposer, const ProposeRequest& request,
                                      const std::function<bool(const Piece&)>& passes) {
  proposer->Begin("1", request);
  std::vector<Candidate> candidates;
  size_t judged = 0;
  while (auto proposal = proposer->Next(0)) {
    EXPECT_TRUE(candidates.empty()) << "before all pieces are judged";
    for (const Piece& piece : proposal->pieces) {
      proposer->PieceJudged("1", piece.number, passes(piece));
      ++judged;
    }
    candidates = std::move(proposal->candidates);
    if (!proposal->last) continue;
    EXPECT_FALSE(proposer->Next(0));
    return candidates;
  }
  ADD_FAILURE() << "no last proposal after " << judged << " pieces";
  return candidates;
}

// Which answers the echo gave to a candidate's parts.
std::set<std::string> AnswersIn(const Candidate& candidate) {
  std::set<std::string> answers;
  for (const char* number : {"0", "1", "2", "3"}) {
    if (candidate.source.find(std::string("\n    ") + number + "\n") != std::string::npos)
      answers.insert(number);
  }
  return answers;
}

TEST(PolicyProposer, RightPiecesStandInForWrongOnes) {
  const auto asked = Make();
  const Program program = Chain(6);
  const ProposeRequest request{.program = &program, .count = 4, .judges_pieces = true};
  std::set<std::string> references;
  const auto is_second = [&](const Piece& piece) {
    references.insert(piece.reference);
    return piece.source.find("\n    1") != std::string::npos;
  };
  // Only samples 0 and 1, of two parts, have second answers: the others are made of those, too.
  const auto candidates = JudgedInPieces(asked.proposer.get(), request, is_second);
  ASSERT_EQ(candidates.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(candidates[i].number, i);
    EXPECT_EQ(candidates[i].strategy, "m #" + std::to_string(i + 1) + " in 2 parts");
    EXPECT_EQ(AnswersIn(candidates[i]), std::set<std::string>{"1"}) << candidates[i].source;
  }
  EXPECT_EQ(references.size(), 3u);  // three, two and one operation
  for (const std::string& reference : references) {
    EXPECT_NE(reference.find("class Model(torch.nn.Module):\n    def forward(self, x0):"), std::string::npos);
    EXPECT_NE(
        reference.find("def get_inputs():\n    return [\n        torch.randn([4]).to(torch.float32),\n"),
        std::string::npos)
        << reference;
  }
  EXPECT_EQ(asked.model->asked.size(), 2u + 3u + 6u);  // nothing was asked again
}

TEST(PolicyProposer, WherePiecesAllPassNothingChanges) {
  const auto asked = Make();
  const Program program = Chain(6);
  const ProposeRequest request{.program = &program, .count = 8, .judges_pieces = true};
  auto judged = ByNumber(JudgedInPieces(asked.proposer.get(), request, [](const Piece&) { return true; }));
  const auto plain = ByNumber(asked.proposer->Propose({.program = &program, .count = 8}));
  ASSERT_EQ(judged.size(), plain.size());
  for (const auto& [number, candidate] : plain) {
    EXPECT_EQ(judged[number].source, candidate.source);
    EXPECT_EQ(judged[number].strategy, candidate.strategy);
  }
}

TEST(PolicyProposer, PartsWithoutARightAnswerAreAskedAboutOnceMore) {
  const auto asked = Make();
  const Program program = Chain(6);
  const ProposeRequest request{.program = &program, .count = 4, .judges_pieces = true};
  // The third and fourth answers exist in the second round only.
  const auto is_late = [](const Piece& piece) {
    return piece.source.find("\n    2") != std::string::npos ||
           piece.source.find("\n    3") != std::string::npos;
  };
  const auto candidates = JudgedInPieces(asked.proposer.get(), request, is_late);
  EXPECT_EQ(asked.model->asked.size(), 2u + 3u + 6u + 2u);  // both parts of the way that lacks fewest
  EXPECT_EQ(asked.model->asked.back().samples, 4);
  ASSERT_EQ(candidates.size(), 4u);
  std::set<std::string> sources;
  for (const Candidate& one : candidates) {
    for (const std::string& answer : AnswersIn(one)) EXPECT_TRUE(answer == "2" || answer == "3");
    sources.insert(one.source);
  }
  EXPECT_EQ(sources.size(), 4u) << "each pair of right answers";

  const auto hopeless = Make();
  const auto wrong = JudgedInPieces(hopeless.proposer.get(), request, [](const Piece&) { return false; });
  EXPECT_EQ(wrong.size(), 4u);  // as they would have been
  EXPECT_EQ(hopeless.model->asked.size(), 2u + 3u + 6u + 2u);
}

TEST(PolicyProposer, PiecesAreNotRepaired) {
  const auto asked = Make();
  const Program program = Chain(6);
  const Candidate wrong{.strategy = "m #2 in 2 parts"};
  asked.proposer->Begin("1:2", {.program = &program, .count = 1, .judges_pieces = true, .wrong = &wrong});
  const auto none = asked.proposer->Next(0);
  EXPECT_TRUE(none && none->last && none->candidates.empty() && none->pieces.empty());
  EXPECT_TRUE(asked.model->asked.empty());
}

TEST(PolicyProposer, PiecesWithIndicesAreNotJudged) {
  const auto asked = Make({.operations = 1});
  const Program program = ParseProgram(R"(import torch


def program(x, i):
    # x: float32[4, 6]
    # i: int64[3]
    index_select = torch.index_select(x, 0, i)  # float32[3, 6]
    relu = torch.relu(index_select)  # float32[3, 6]
    return relu
)");
  int pieces = 0;
  const auto candidates =
      JudgedInPieces(asked.proposer.get(), {.program = &program, .count = 1, .judges_pieces = true},
                     [&](const Piece& piece) {
                       EXPECT_EQ(piece.reference.find("index_select("), std::string::npos);
                       return ++pieces > 0;
                     });
  EXPECT_EQ(pieces, 1);
  EXPECT_EQ(candidates.size(), 1u);
}

TEST(PolicyProposer, AboutProgramsThatAreTooLongNobodyIsAsked) {
  const auto asked = Make({.operations = 2, .most = 4});
  const Program four = Chain(4), five = Chain(5);
  EXPECT_EQ(asked.proposer->Propose({.program = &four, .count = 2}).size(), 2u);
  const size_t questions = asked.model->asked.size();
  EXPECT_TRUE(asked.proposer->Propose({.program = &five, .count = 2}).empty());
  asked.proposer->Begin("1", {.program = &five, .count = 2});
  const auto none = asked.proposer->Next(0);
  EXPECT_TRUE(none && none->id == "1" && none->last && none->candidates.empty());
  EXPECT_EQ(asked.model->asked.size(), questions);
  const Words remarks = asked.proposer->TakeRemarks();
  ASSERT_EQ(remarks.size(), 2u);
  EXPECT_TRUE(remarks[0].starts_with("policy: not asked: the program has 5 operations")) << remarks[0];
}

TEST(PolicyProposer, ZeroCutsNothing) {
  const auto asked = Make({.operations = 0});
  const Program program = Chain(9);
  EXPECT_EQ(asked.proposer->Propose({.program = &program, .count = 4}).size(), 4u);
  EXPECT_EQ(asked.model->asked.size(), 1u);
}

TEST(PolicyProposer, AProgramThatTheModelIsNotAskedAboutIsNotAskedInPartsEither) {
  const auto asked = Make();
  Program program = Chain(5);
  program.nodes.back().op = "aten::made_up";
  EXPECT_TRUE(asked.proposer->Propose({.program = &program, .count = 2}).empty());
  EXPECT_TRUE(asked.model->asked.empty());
  EXPECT_EQ(asked.proposer->TakeRemarks(),
            Words{"policy: the program has aten::made_up, which is no operation of the catalogue"});
}

TEST(PolicyProposer, WhatWasCancelledGivesNothing) {
  const auto asked = Make();
  const Program program = Chain(6);
  asked.proposer->Begin("1", {.program = &program, .count = 2});
  asked.proposer->Cancel();
  EXPECT_FALSE(asked.proposer->Next(0));
  EXPECT_EQ(asked.proposer->Propose({.program = &program, .count = 2}).size(), 2u);
}

}  // namespace
}  // namespace tritogen
