// ChatModel: a language model that answers conversations, many at a time: one behind an endpoint (ChatClient)
// or one of a folder (LocalModel). Whatever happens, each sample that was asked for ends in a reply or in one
// sentence. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "propose/chat_reply.h"
#include "text/prompt.h"

namespace tritogen {

struct ChatRequest {
  std::vector<ChatMessage> messages;
  std::string purpose;  // for the cost log: "propose", "difficulty"
  int samples = 1;      // answers to the same messages
  uint64_t seed = 0;    // of their sampling, where the model takes one
};

struct ChatFailure {
  enum class Kind {
    kRefused,     // the endpoint will have no request: key, address, model
    kBadRequest,  // it will not have this one
    kBusy,        // too many requests, or a failure of its own, until the last retry
    kBroken,      // no connection, or it broke off, until the last retry
    kTimeout,     // idle or altogether too long
    kBadReply,    // an answer that is none
    kCancelled
  };
  // Nothing is wrong with the request: asked at another time, it may be answered.
  bool outage() const {
    return kind == Kind::kRefused || kind == Kind::kBusy || kind == Kind::kBroken || kind == Kind::kTimeout;
  }

  Kind kind;
  std::string message;  // "https://host/v1/chat/completions: HTTP 401: …"
};

using ChatResult = std::variant<ChatReply, ChatFailure>;

class ChatModel {
 public:
  virtual ~ChatModel() = default;

  struct Done {
    std::string id;
    int sample = 0;
    ChatResult result;
  };

  virtual const std::string& model() const = 0;  // its name
  // Takes a request; what is asked starts when there is room.
  virtual void Submit(std::string id, const ChatRequest& request) = 0;
  // The next result, in the order in which they come. Nothing after `timeout_seconds`, or when none is left.
  virtual std::optional<Done> Next(double timeout_seconds) = 0;
  virtual int unfinished() const = 0;  // samples
  // Every unfinished sample ends as kCancelled; Next gives these results, too.
  virtual void Cancel() = 0;
  // What went wrong beside the answers, once; empty: nothing.
  virtual std::string TakeProblem() { return {}; }

  // Results of requests for one sample each, in order.
  std::vector<ChatResult> Ask(const std::vector<ChatRequest>& requests);
  // Asked a few times a second while Ask waits; true: all is cancelled.
  std::function<bool()> give_up;
};

}  // namespace tritogen
