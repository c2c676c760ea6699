// Several proposers as one: their candidates one after the other, and the first chat model among them.
#pragma once

#include <algorithm>
#include <memory>

#include "propose/proposer.h"

namespace tritogen {

class ProposerGroup : public Proposer {
 public:
  explicit ProposerGroup(std::vector<std::unique_ptr<Proposer>> members) : members_(std::move(members)) {}

  std::string_view name() const override { return "group"; }
  std::vector<Candidate> Propose(const ProposeRequest& request) override {
    return ProposeAll({&request, 1})[0];
  }
  std::vector<std::vector<Candidate>> ProposeAll(std::span<const ProposeRequest> requests) override {
    std::vector<std::vector<Candidate>> all(requests.size());
    for (const auto& member : members_) {
      auto answers = member->ProposeAll(requests);
      for (size_t i = 0; i < all.size(); ++i) {
        for (Candidate& candidate : answers[i]) all[i].push_back(std::move(candidate));
      }
    }
    return all;
  }
  bool failed() const override {
    return std::ranges::any_of(members_, [](const auto& member) { return member->failed(); });
  }
  std::vector<std::string> TakeRemarks() override {
    std::vector<std::string> all;
    for (const auto& member : members_) {
      for (std::string& remark : member->TakeRemarks()) all.push_back(std::move(remark));
    }
    return all;
  }
  ChatModel* chat() override {
    for (const auto& member : members_) {
      if (ChatModel* chat = member->chat()) return chat;
    }
    return nullptr;
  }

 private:
  std::vector<std::unique_ptr<Proposer>> members_;
};

}  // namespace tritogen
