// What an OpenAI-compatible endpoint answers to /chat/completions, as one JSON object or as a stream of
// events, read while it arrives. Every byte is hostile: sizes and depth have limits, and whatever comes ends
// in a reply or in a sentence that says what is wrong with it.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "propose/sse.h"

namespace tritogen {

struct ChatReply {
  std::string content;
  std::string reasoning;      // of fields beside the content; think tags are left where they stand
  std::string finish_reason;  // "stop", "length", …
  std::optional<int64_t> prompt_tokens, completion_tokens;  // as far as the endpoint says
  int retries = 0;
  double seconds = 0;  // from the first try to the end
  bool cut_off() const { return finish_reason == "length"; }
};

struct ReplyLimits {
  size_t body_bytes = size_t{64} << 20;  // everything, framing included
  size_t event_bytes = size_t{1} << 20;  // one event of a stream
  size_t text_bytes = size_t{4} << 20;   // content and reasoning
  size_t json_bytes = size_t{8} << 20;   // a reply that is one object
};

struct BadReply {
  std::string message;             // "it answered with something that is no chat completion: …"
  bool may_help_to_retry = false;  // it broke off, or the endpoint reported a failure of its own
};

class ReplyReader {
 public:
  explicit ReplyReader(const ReplyLimits& limits = {});
  ReplyReader(const ReplyReader&) = delete;

  // False: the rest needs no reading, since the reply is complete or bad.
  bool Feed(std::string_view bytes);
  // REQUIRES: called once, after the last Feed. `whole`: the transfer came to its proper end.
  std::variant<ChatReply, BadReply> Finish(bool whole);

 private:
  enum class Form { kUnknown, kEvents, kObject, kNeither };
  bool Event(std::string_view data);
  bool Take(const nlohmann::json& object);
  void TakeMessage(const nlohmann::json& message);
  bool Fail(std::string message, bool may_help_to_retry = false);

  ReplyLimits limits_;
  Form form_ = Form::kUnknown;
  size_t bytes_ = 0;
  std::string body_;  // of a reply that is one object, or the start of one that is neither
  SseParser events_;
  ChatReply reply_;
  bool finished_ = false, any_choice_ = false, ending_ = false;
  std::optional<BadReply> bad_;
};

// The reason in the body of a refusal: {"error": {"message": …}}, {"detail": …}, else its first line.
// Printable, at most 300 bytes.
std::string RefusalText(std::string_view body);

}  // namespace tritogen
