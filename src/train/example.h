// From a conversation to an Example: the model's own chat template makes a text of it, its tokenizer tokens.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "text/chat_template.h"
#include "text/tokenizer.h"
#include "train/corpus.h"

namespace tritogen::train {

// How a model reads and ends conversations.
struct ChatFormat {
  Tokenizer tokenizer;
  ChatTemplate chat_template;
  std::vector<TokenId> ends;  // any of them ends an answer; not empty
};

// Of a model folder. Throws UserError: a missing or broken file, no chat template, no eos_token_id, an end
// that the tokenizer does not have.
ChatFormat LoadChatFormat(const std::filesystem::path& folder);

// Not thread-safe: one a thread.
class ExampleMaker {
 public:
  ExampleMaker(const ChatFormat& format, int64_t longest)
      : format_(format), longest_(longest), encoder_(format.tokenizer) {}

  // What stands before the last answer is encoded as it is when the model is asked; the answer with what the
  // template puts around it, up to the token that ends it, which is added where the template has none.
  // Nothing when it is longer than `longest`. Throws FormatError: the last message is no answer, what the
  // template refuses, and a template that renders a conversation otherwise once it is answered.
  std::optional<Example> Make(const jinja::Value& messages);

 private:
  bool IsEnd(int32_t token) const;
  int32_t CodeToken(const std::string& answer, const std::vector<int32_t>& tokens, int32_t plan) const;

  const ChatFormat& format_;
  int64_t longest_;
  Encoder encoder_;
};

}  // namespace tritogen::train
