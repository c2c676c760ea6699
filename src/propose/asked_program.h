// One program that a model is asked about in parts or in small sizes: the questions, and the candidates that
// their answers make.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "propose/parts.h"
#include "propose/proposer.h"
#include "propose/sizes.h"

namespace tritogen {

struct PolicyOptions {
  int operations = 3;  // programs of more are cut into parts of at most so many; 0: never
  // Answers to parts are judged by themselves, where who asks does that, before they are put together.
  bool judges_parts = true;
  int64_t largest = 128;  // size of a product's dimension that it is asked about as it is; 0: any
  int most = 0;           // operations of a program; about longer ones nobody is asked. 0: about all
};

// Whether the model is asked about the program as it is.
bool IsAskedPlainly(const Program& program, const PolicyOptions& options);

class AskedProgram {
 public:
  // What the request points at must outlast it. `model`: its name, for the candidates.
  //
  // The samples of a program that is cut take turns: parts as long as they may be, the views between them in
  // the file's own forward; the same with views in the parts; parts of two operations, and of one, with views
  // in forward. The shorter, the likelier each answer is to be right, and the less is fused. Where parts with
  // a product of matrices or a convolution have large sizes, samples that are cut alike take turns with them,
  // too: small ones in all parts, the program's own in all, small ones in every other part, own ones in
  // those.
  AskedProgram(const ProposeRequest& request, const PolicyOptions& options, std::string model);

  size_t questions() const { return questions_.size(); }
  // REQUIRES: question < questions().
  ProposeRequest RequestFor(size_t question) const;

  // Sample i is made of the i-th answers to all parts: the candidate that is complete by this one. Where who
  // asked judges pieces, there is none before all are judged: answers that passed then stand in for those
  // that did not.
  std::optional<Candidate> Take(size_t question, Candidate answer);
  void TakeLast() { --waiting_; }  // of a question's answers

  // Answers to parts, to be judged, since the last call.
  std::vector<Piece> TakePieces() { return std::exchange(pieces_, {}); }
  void Judged(int64_t piece, bool passed);

  // Whether answers or verdicts are still to come. The following are for when none are.
  bool waits() const { return waiting_ > 0 || judging_ > 0; }
  // Once, where no way to cut the program has an answer that passed to each part: new questions about those
  // parts of one of them that have none.
  std::vector<size_t> AskAgain();
  // The candidates that have not been returned yet.
  std::vector<Candidate> Assembled();

 private:
  // What the model is asked: about one part, in one of its sizes.
  struct Question {
    size_t way, part;
    Program program;
    std::map<int64_t, int64_t> back;  // of its sizes
    int count = 0;
    std::vector<size_t> samples;  // which sample gets the answer of a number; none: see AskAgain
  };
  struct Sample {
    size_t way;
    bool small = false;              // any of its parts
    std::vector<Candidate> answers;  // by part; without a number: not there yet
  };
  // An answer to a part, as often as it was given.
  struct PartJudgement {
    size_t way, part;
    Candidate answer;
    bool passed = false;
  };
  // One way to cut a program.
  struct Way {
    std::optional<PartLimits> limits;  // none: the program is the one part
    std::vector<ProgramPart> parts;
    std::vector<std::optional<Resized>> resized;          // by part
    std::map<std::pair<size_t, bool>, size_t> questions;  // by part and whether its sizes are small
    int next_turn = 0;                                    // of its next sample
    std::vector<std::vector<const Candidate*>> right;     // by part: answers that passed
    bool complete() const;
  };
  void AddWaySample(const std::optional<PartLimits>& limits, int first_turn);
  Way WayOf(const std::optional<PartLimits>& limits, int first_turn) const;
  void AddSample(size_t way);
  size_t AddQuestion(size_t way, size_t part, bool small);
  void Submit(size_t way, size_t part, const Candidate& answer);
  void FindRight();
  Sample WithRightAnswers(Sample sample, size_t turn) const;
  Candidate CandidateOf(const Sample& sample, size_t number) const;

  const ProposeRequest request_;
  const PolicyOptions options_;
  const std::string model_;
  bool whole_ = false;  // all ways have one part, which is the program
  bool judged_ = false, asked_again_ = false;
  std::deque<Way> ways_;
  std::deque<Question> questions_;
  std::vector<Sample> samples_;
  std::deque<PartJudgement> judgements_;
  std::map<std::pair<std::pair<size_t, size_t>, std::string>, size_t> by_source_;  // of a way's part
  std::vector<Piece> pieces_;
  size_t waiting_ = 0, judging_ = 0;
};

}  // namespace tritogen
