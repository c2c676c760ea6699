// A Proposer that asks another one about long programs in parts, and puts the answers together.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "propose/parts.h"
#include "propose/proposer.h"

namespace tritogen {

struct PartsOptions {
  int operations = 3;  // programs of more are cut into parts of at most so many; 0: never
  int most = 0;        // operations of a program; about longer ones nobody is asked. 0: about all
};

class PartsProposer : public Proposer {
 public:
  // Of the samples of a program that is cut half are of parts as long as they may be, a quarter each of parts
  // with two operations that are no views, and with one: the shorter, the likelier each answer is to be
  // right, and the less is fused. `whole` answers as the policy does: with a ModelNew that takes the
  // program's leaves.
  PartsProposer(std::unique_ptr<Proposer> whole, PartsOptions options);

  std::string_view name() const override { return whole_->name(); }
  // Sample i of a long program is made of the i-th answers to its parts. A repair of one is another try,
  // with parts of one operation: whose fault it was nobody knows.
  std::vector<Candidate> Propose(const ProposeRequest& request) override;
  std::vector<std::vector<Candidate>> ProposeAll(std::span<const ProposeRequest> requests) override;
  void Begin(std::string id, const ProposeRequest& request) override;
  std::optional<Proposal> Next(double timeout_seconds) override;
  void Cancel() override;

  bool repairs() const override { return whole_->repairs(); }
  std::vector<std::string> TakeRemarks() override;
  ChatModel* chat() override { return whole_->chat(); }

 private:
  // One way to cut a program, and the samples that are of it.
  struct Way {
    std::vector<ProgramPart> parts;
    std::vector<int> numbers;                     // of the samples, among all of the request
    std::vector<std::vector<Candidate>> answers;  // by sample, by part; without a number: not there yet
  };
  struct Open {
    ProposeRequest request;
    std::deque<Way> ways;
    int waiting = 0;  // parts whose last answer is to come
  };
  bool IsRefused(const ProposeRequest& request);
  bool IsLong(const ProposeRequest& request) const;
  Open Opened(const ProposeRequest& request) const;
  static ProposeRequest PartRequest(const Open& open, const Way& way, size_t part);
  std::optional<Candidate> Take(const Open& open, Way* way, size_t part, Candidate answer);

  std::unique_ptr<Proposer> whole_;
  PartsOptions options_;
  std::map<std::string, Open, std::less<>> open_;
  std::vector<std::string> refused_, remarks_;  // ids of requests; why
};

}  // namespace tritogen
