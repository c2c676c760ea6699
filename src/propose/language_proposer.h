// A language model as a Proposer: behind an endpoint, or of a folder.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "propose/chat_model.h"
#include "propose/proposer.h"
#include "text/answer.h"
#include "text/prompt.h"

namespace tritogen {

struct LanguageOptions {
  std::string name = "remote";
  PromptTemplate prompt;           // text/prompt.h; its answer form is not kText
  std::optional<PromptBody> body;  // nothing: the template's own
  std::string device = "an NVIDIA GPU";
  // Asked as the policy is trained (PolicyTask), and answered as it answers: where a program has state, or
  // forward takes more than tensors, the answer is a module that takes the canonical program's arguments.
  bool as_policy = false;
  // An outage of the endpoint is an error, no remark: who builds a set goes on later.
  bool must_answer = false;
  std::function<void(int64_t done, int64_t total)> progress;  // of ProposeAll
};

class LanguageProposer : public Proposer {
 public:
  // Throws UserError for a prompt that asks for no code.
  LanguageProposer(LanguageOptions options, std::unique_ptr<ChatModel> model);

  std::string_view name() const override { return options_.name; }
  // request.count samples, one of a repair, in parallel as far as the model can. An answer without usable
  // code is a candidate too, with no_answer set; a sample that the model failed to give is a remark.
  // REQUIRES: request.program is set.
  std::vector<Candidate> Propose(const ProposeRequest& request) override;
  // All samples of all programs share the model.
  std::vector<std::vector<Candidate>> ProposeAll(std::span<const ProposeRequest> requests) override;
  // A proposal a sample. Ids of unfinished requests are unlike each other.
  void Begin(std::string id, const ProposeRequest& request) override;
  std::optional<Proposal> Next(double timeout_seconds) override;
  void Cancel() override;

  // The verdict goes back in the same conversation, as the prompt `repair` says it.
  bool repairs() const override { return true; }
  bool failed() const override { return failed_; }
  std::vector<std::string> TakeRemarks() override;
  ChatModel* chat() override { return model_.get(); }

 private:
  struct Open {
    ProposeRequest request;
    PromptTask task;
    std::vector<ChatMessage> messages;
    int waiting = 0;
  };
  PromptTask TaskOf(const ProposeRequest& request) const;
  std::vector<ChatMessage> MessagesFor(const Open& open) const;
  Candidate CandidateFrom(const Open& open, const ChatReply& reply, int sample) const;
  void PutIntoFile(const Open& open, const Answer& answer, Candidate* candidate) const;

  LanguageOptions options_;
  std::unique_ptr<ChatModel> model_;
  std::map<std::string, Open, std::less<>> open_;
  std::vector<std::string> refused_, refusals_;  // requests that were not sent, and why
  bool ever_answered_ = false;
  int64_t asked_ = 0;                    // samples, since the last remarks
  std::map<std::string, int> failures_;  // likewise
  bool failed_ = false;
};

}  // namespace tritogen
