// A model folder as a ChatModel. The model lives in a process of its own, forked when this is made, for three
// reasons: judges are forked from the caller, which must have no threads and no CUDA context then; the model
// loads while the caller does other work; and whatever a device does to its process is a sentence here.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "engine/engine.h"
#include "propose/chat_model.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace tritogen {

// A model that is ready to answer.
struct LoadedModel {
  std::unique_ptr<const Tokenizer> tokenizer;
  ChatTemplate chat_template;
  GenerateOptions options;               // of every answer, but for the seed
  std::unique_ptr<Generator> generator;  // last: it uses the tokenizer
};

class LocalModel : public ChatModel {
 public:
  // `open` is called in the model's process; what it throws is thrown here by Submit or Next, as UserError
  // where it was one. REQUIRES: this process has no other threads.
  LocalModel(std::string name, const std::function<LoadedModel()>& open);
  ~LocalModel() override;  // ends the process
  LocalModel(const LocalModel&) = delete;

  const std::string& model() const override { return name_; }
  // Samples of one request share its prompt; each draws with the seed's successors (SequenceSeed). A prompt
  // that the model cannot take is a failure of each of its samples.
  void Submit(std::string id, const ChatRequest& request) override;
  std::optional<Done> Next(double timeout_seconds) override;
  int unfinished() const override { return unfinished_; }
  void Cancel() override;

 private:
  void Send(const nlohmann::json& message);
  void Read(double timeout_seconds);  // what is there; waits for something
  void Take(const nlohmann::json& message);
  [[noreturn]] void Ended();

  std::string name_;
  pid_t pid_ = -1;
  UniqueFd fd_;
  std::string unread_;
  int64_t next_ticket_ = 0;
  struct Asked {
    std::string id;
    int waiting = 0;
  };
  std::map<int64_t, Asked> asked_;  // by ticket: what frames call a request
  std::deque<Done> done_;
  int unfinished_ = 0;
};

}  // namespace tritogen
