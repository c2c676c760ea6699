// What a client asks for: the body of a POST, read and checked, its texts as tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "serve/api_error.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace tritogen::serve {

// The one model behind the server. What it points at outlives the server.
struct ServedModel {
  std::string name;
  int64_t created = 0;  // seconds since 1970
  const Tokenizer* tokenizer = nullptr;
  const ChatTemplate* chat_template = nullptr;  // null: no chat model
  GenerateOptions defaults;  // what a call does not say; its stop tokens are the model's eos
  RunnerLimits limits;
};

enum class CallKind { kCompletion, kChat };

struct Call {
  CallKind kind = CallKind::kCompletion;
  std::vector<std::vector<TokenId>> prompts;  // at least one; each has at least one token
  std::vector<std::string> echoes;            // texts before the answers; empty unless asked for
  GenerateOptions options;
  int32_t n = 1;          // answers to each prompt
  bool logprobs = false;  // options.sampling.top_logprobs of other tokens beside each
  bool stream = false, include_usage = false;

  int32_t choices() const { return static_cast<int32_t>(prompts.size()) * n; }
};

// Bodies of /v1/completions and /v1/chat/completions; docs/serve.md lists what they may hold. Throws
// ApiError. `most_choices`: that the server takes in one request.
Call ParseCompletion(std::string_view body, const ServedModel& model, int32_t most_choices, Encoder* encoder);
Call ParseChat(std::string_view body, const ServedModel& model, int32_t most_choices, Encoder* encoder);

}  // namespace tritogen::serve
