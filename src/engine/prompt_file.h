// What a model is to go on from: a prompt, or a file of them.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace tritogen {

struct Prompt {
  std::string id;                   // the line's own, or "line 3"
  std::string text;                 // goes to the model as it is,
  nlohmann::ordered_json messages;  // unless there are messages, for the model's chat template
  std::string fault;                // what is wrong with the line
  int64_t number = -1;              // in its file, from 0; −1: from no file
};

// Every line of a JSONL file that is not blank: {"prompt": "…"} or {"messages": […]}, each with an optional
// "id". Lines that are neither have a fault. Throws UserError: no such file, no lines, two lines with one id.
std::vector<Prompt> ReadPrompts(const std::string& path);
std::vector<Prompt> ParsePrompts(std::string_view text, const std::string& path);

// The prompt as one message of a user.
Prompt AsChat(Prompt prompt);

// Tokens of a prompt without fault. Throws UserError: no chat template (with `why_no_chat`), messages that it
// refuses.
std::vector<TokenId> EncodePrompt(const Prompt& prompt, const ChatTemplate* chat_template,
                                  const std::string& why_no_chat, Encoder* encoder);

}  // namespace tritogen
