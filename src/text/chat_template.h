// From messages to the text that a chat model expects: its own template, as transformers' apply_chat_template
// fills it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja.h"
#include "text/prompt.h"

namespace tritogen {

struct ChatOptions {
  bool add_generation_prompt = true;  // end with the beginning of the answer
  // More variables of the template: {"enable_thinking": false} for Qwen3, "tools", "date_string", …
  jinja::Value variables = jinja::Value::object();
};

// Immutable; thread-safe.
class ChatTemplate {
 public:
  // `special_tokens`: "bos_token", "eos_token", … as text. Throws FormatError as jinja::Parse does.
  explicit ChatTemplate(std::string_view source, jinja::Value special_tokens = jinja::Value::object());

  // `messages`: an array of maps with "role" and "content", as in a request for chat completions. Throws
  // FormatError: what is no such array, and what the template itself refuses.
  std::string Render(const jinja::Value& messages, const ChatOptions& options = {}) const;

 private:
  std::vector<jinja::Statement> statements_;
  jinja::Value special_tokens_;
};

jinja::Value ToJson(const std::vector<ChatMessage>& messages);

// The template of a model folder: chat_template.jinja, or "chat_template" in tokenizer_config.json (of
// several the one called "default"), with the special tokens from there. Throws UserError naming the file,
// also when there is none.
ChatTemplate LoadChatTemplate(const std::filesystem::path& folder);

// The same for who can do without: texts need no template. Either there is one, or `why_none` says why not.
struct FoundChatTemplate {
  std::optional<ChatTemplate> found;
  std::string why_none;
};
FoundChatTemplate FindChatTemplate(const std::filesystem::path& folder);

}  // namespace tritogen
