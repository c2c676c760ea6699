// A language model behind an OpenAI-compatible endpoint as a Proposer.
#pragma once

#include <functional>
#include <optional>

#include "propose/chat_client.h"
#include "propose/proposer.h"
#include "text/answer.h"
#include "text/prompt.h"

namespace tritogen {

struct RemoteOptions {
  ChatClientOptions chat;
  PromptTemplate prompt;           // text/prompt.h; its answer form is not kText
  std::optional<PromptBody> body;  // nothing: the template's own
  std::string device = "an NVIDIA GPU";
  bool must_answer =
      false;  // an outage of the endpoint is an error, no remark: who builds a set goes on later
  std::function<void(int64_t done, int64_t total)> progress;
};

class RemoteProposer : public Proposer {
 public:
  // Throws UserError as ChatClient does, and for a prompt that asks for no code.
  explicit RemoteProposer(RemoteOptions options);

  std::string_view name() const override { return "remote"; }
  // request.count samples, in parallel as far as the endpoint's limit goes. An answer without usable code is
  // a candidate too, with no_answer set; a sample that the endpoint failed to give is a remark. REQUIRES:
  // request.program is set.
  std::vector<Candidate> Propose(const ProposeRequest& request) override;
  std::vector<std::string> TakeRemarks() override;

  // All samples of all programs share the endpoint's places.
  std::vector<std::vector<Candidate>> ProposeAll(std::span<const ProposeRequest> requests) override;
  ChatClient* chat() override { return &client_; }
  // What a prompt says of this task.
  PromptTask TaskOf(const ProposeRequest& request) const;

 private:
  ChatRequest RequestFor(const PromptTask& task) const;
  Candidate CandidateFrom(const ProposeRequest& request, const PromptTask& task, const ChatReply& reply,
                          int sample) const;

  RemoteOptions options_;
  ChatClient client_;
  std::vector<std::string> remarks_;
};

// A file whose ModelNew calls a function that takes the canonical program's arguments: tensors among
// forward's arguments, then parameters and buffers by their names. Nothing where the program has constants or
// state that has no name.
std::optional<std::string> ModuleAround(const std::string& code, const std::string& function,
                                        const ProposeRequest& request);

}  // namespace tritogen
