// Asks a model about what it was trained on: few operations, small sizes. Long programs go to it in parts,
// large sizes as small ones, and what it answers is put together.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "propose/parts.h"
#include "propose/proposer.h"
#include "propose/sizes.h"

namespace tritogen {

struct PolicyOptions {
  int operations = 3;     // programs of more are cut into parts of at most so many; 0: never
  int64_t largest = 128;  // size of a product's dimension that it is asked about as it is; 0: any
  int most = 0;           // operations of a program; about longer ones nobody is asked. 0: about all
};

class PolicyProposer : public Proposer {
 public:
  // The samples of a program that is cut take turns: parts as long as they may be, the views between them in
  // the file's own forward; the same with views in the parts; parts of two operations, and of one, with views
  // in forward. The shorter, the likelier each answer is to be right, and the less is fused. Where parts with
  // a product of matrices or a convolution have large sizes, samples that are cut alike take turns with them,
  // too: small ones in all parts, the program's own in all, small ones in every other part, own ones in
  // those. `model` answers as the policy does: with a ModelNew that takes a program's leaves.
  PolicyProposer(std::unique_ptr<Proposer> model, PolicyOptions options);

  std::string_view name() const override { return model_->name(); }
  // A repair of what was put together is another try, with parts of one operation: whose fault it was nobody
  // knows.
  std::vector<Candidate> Propose(const ProposeRequest& request) override;
  std::vector<std::vector<Candidate>> ProposeAll(std::span<const ProposeRequest> requests) override;
  void Begin(std::string id, const ProposeRequest& request) override;
  std::optional<Proposal> Next(double timeout_seconds) override;
  void Cancel() override;

  bool repairs() const override { return model_->repairs(); }
  std::vector<std::string> TakeRemarks() override;
  ChatModel* chat() override { return model_->chat(); }

 private:
  // What the model is asked: about one part, in one of its sizes.
  struct Question {
    size_t part;
    Program program;
    std::map<int64_t, int64_t> back;  // of its sizes
    std::vector<size_t> samples;      // which sample gets the answer of a number
  };
  struct Sample {
    size_t way;
    bool small = false;              // any of its parts
    std::vector<Candidate> answers;  // by part; without a number: not there yet
  };
  // One way to cut a program.
  struct Way {
    std::optional<PartLimits> limits;  // none: the program is the one part
    std::vector<ProgramPart> parts;
    std::vector<std::optional<Resized>> resized;          // by part
    std::map<std::pair<size_t, bool>, size_t> questions;  // by part and whether its sizes are small
    int next_turn = 0;                                    // of its next sample
  };
  struct Open {
    ProposeRequest request;
    bool whole = false;  // all ways have one part, which is the program
    std::deque<Way> ways;
    std::deque<Question> questions;
    std::vector<Sample> samples;
    size_t waiting = 0;  // questions whose last answer is to come
  };
  bool IsRefused(const ProposeRequest& request);
  bool IsPlain(const ProposeRequest& request) const;
  Open Opened(const ProposeRequest& request) const;
  Way WayOf(const ProposeRequest& request, const std::optional<PartLimits>& limits, int first_turn) const;
  static void AddSample(Open* open, size_t way);
  static ProposeRequest RequestFor(const Open& open, size_t question);
  std::optional<Candidate> Take(Open* open, size_t question, Candidate answer);

  std::unique_ptr<Proposer> model_;
  PolicyOptions options_;
  std::map<std::string, Open, std::less<>> open_;
  std::vector<std::string> refused_, remarks_;  // ids of requests; why
};

}  // namespace tritogen
