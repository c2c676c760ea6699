// Asks a model about what it was trained on: few operations, small sizes (asked_program.h). Long programs go
// to it in parts, large sizes as small ones, and what it answers is put together.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "propose/asked_program.h"
#include "propose/proposer.h"

namespace tritogen {

class PolicyProposer : public Proposer {
 public:
  // `model` answers as the policy does: with a ModelNew that takes a program's leaves.
  PolicyProposer(std::unique_ptr<Proposer> model, PolicyOptions options);

  std::string_view name() const override { return model_->name(); }
  // A repair of what was put together is another try, with parts of one operation: whose fault it was nobody
  // knows. Where pieces are judged it is known, and there is none.
  std::vector<Candidate> Propose(const ProposeRequest& request) override;
  std::vector<std::vector<Candidate>> ProposeAll(std::span<const ProposeRequest> requests) override;
  void Begin(std::string id, const ProposeRequest& request) override;
  std::optional<Proposal> Next(double timeout_seconds) override;
  void PieceJudged(std::string_view id, int64_t piece, bool passed) override;
  void Cancel() override;

  bool repairs() const override { return model_->repairs(); }
  bool failed() const override { return model_->failed(); }
  std::vector<std::string> TakeRemarks() override;
  ChatModel* chat() override { return model_->chat(); }

 private:
  using Open = std::map<std::string, AskedProgram, std::less<>>;
  bool IsRefused(const ProposeRequest& request);
  AskedProgram Asked(const ProposeRequest& request) const;
  void Ask(const std::string& id, const AskedProgram& asked, size_t question);
  void GoOn(Open::iterator open, Proposal* proposal);

  std::unique_ptr<Proposer> model_;
  PolicyOptions options_;
  Open open_;
  std::deque<Proposal> ready_;
  std::vector<std::string> remarks_;
};

}  // namespace tritogen
