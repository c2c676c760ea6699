// What a client gets: chunks of the engine → OpenAI's objects, whole or as a stream of events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serve/call.h"
#include "serve/logprobs.h"

namespace tritogen::serve {

// The answer to one call while it grows. One thread.
class Reply {
 public:
  // `id`: unlike those of all others; `created`: seconds since 1970. The model outlives the reply.
  Reply(const Call& call, const ServedModel& model, std::string id, int64_t created);

  // News of a sequence of prompt `prompt`. For a stream, the events that tell it, which may be none.
  std::string Add(size_t prompt, const Chunk& chunk);
  // Every choice has ended.
  bool complete() const { return open_ == 0; }
  // The body; of a stream, its last events. REQUIRES: complete.
  std::string Finish() const;

  // The events of a stream that has failed.
  static std::string ErrorEvents(const ApiError& error);

  int64_t prompt_tokens() const { return prompt_tokens_; }
  int64_t generated_tokens() const { return generated_tokens_; }

 private:
  struct Choice {
    std::string text;        // of a whole reply; streams have sent it
    Json logprobs;           // null: none asked for
    int64_t characters = 0;  // of the tokens so far: text_offset
    bool begun = false;
    std::string finish;  // empty: still open
  };

  Json NewLogprobs() const;
  void AddLogprobs(const Chunk& chunk, Choice* choice) const;
  std::string Event(size_t index, Choice* choice, std::string text) const;
  std::string EventOf(const Json& choice) const;
  Json Usage() const;
  Json WholeChoice(size_t index) const;
  Json Head(bool chunk) const;

  const ServedModel& model_;
  CallKind kind_;
  int32_t n_;
  bool logprobs_, stream_, include_usage_, skip_special_;
  std::string id_;
  int64_t created_;
  std::string event_head_;  // of every event, up to the choices
  std::vector<Choice> choices_;
  size_t open_;
  int64_t prompt_tokens_ = 0, generated_tokens_ = 0;
};

}  // namespace tritogen::serve
