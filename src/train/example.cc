#include "train/example.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "model/config.h"
#include "text/answer.h"

namespace tritogen::train {
namespace {

constexpr EncodeOptions kRendered{.add_special_tokens = false};  // the template has them

void CheckConversation(const jinja::Value& messages) {
  if (!messages.is_array() || messages.size() < 2)
    throw FormatError("messages: expected an array of a question and an answer at least");
  for (size_t i = 0; i < messages.size(); ++i) {
    const jinja::Value& message = messages[i];
    for (const char* key : {"role", "content"}) {
      const bool good = message.is_object() && message.contains(key) && message[key].is_string();
      if (!good) throw FormatError(fmt::format("messages[{}]: expected a map with the text '{}'", i, key));
    }
  }
  if (messages.back()["role"] != "assistant")
    throw FormatError("messages: the last one is not the assistant's, so there is no answer to learn");
}

}  // namespace

ChatFormat LoadChatFormat(const std::filesystem::path& folder) {
  ChatFormat format{LoadTokenizer(folder / "tokenizer.json"), LoadChatTemplate(folder), {}};
  const ModelConfig config = LoadModelConfig(folder / "config.json");
  for (const int64_t end : config.eos) {
    if (format.tokenizer.TokenBytes(static_cast<TokenId>(end)).empty())
      throw UserError(
          fmt::format("{}: its tokenizer has no token {}, which is an eos_token_id in config.json",
                      folder.string(), end));
    format.ends.push_back(static_cast<TokenId>(end));
  }
  if (format.ends.empty())
    throw UserError(fmt::format("{}: config.json has no eos_token_id, so that nothing would end an answer",
                                folder.string()));
  return format;
}

std::optional<Example> ExampleMaker::Make(const jinja::Value& messages) {
  CheckConversation(messages);
  const std::string all = format_.chat_template.Render(messages, {.add_generation_prompt = false});
  jinja::Value asked = messages;
  asked.erase(asked.size() - 1);
  const std::string question = format_.chat_template.Render(asked);
  if (question.empty() || !all.starts_with(question)) {
    throw FormatError(
        "the chat template renders the question otherwise when its answer follows, so that what is learned "
        "would not be what is asked");
  }
  const std::string answer = all.substr(question.size());
  Example example;
  encoder_.Encode(question, kRendered, &example.tokens);
  example.plan = static_cast<int32_t>(example.tokens.size());
  encoder_.Encode(answer, kRendered, &example.tokens);
  const auto last = std::find_if(example.tokens.rbegin(), example.tokens.rend() - example.plan,
                                 [&](int32_t token) { return IsEnd(token); });
  if (last == example.tokens.rend() - example.plan) {
    example.tokens.push_back(format_.ends[0]);
  } else {
    example.tokens.erase(last.base(), example.tokens.end());
  }
  if (static_cast<int64_t>(example.tokens.size()) > longest_) return std::nullopt;
  example.code = CodeToken(answer, example.tokens, example.plan);
  return example;
}

bool ExampleMaker::IsEnd(int32_t token) const {
  return std::find(format_.ends.begin(), format_.ends.end(), token) != format_.ends.end();
}

// The first token that begins at the code's first byte or behind it. (Normalisation may move it by some
// bytes.)
int32_t ExampleMaker::CodeToken(const std::string& answer, const std::vector<int32_t>& tokens,
                                int32_t plan) const {
  const size_t start = CodeStart(answer);
  const auto size = static_cast<int32_t>(tokens.size());
  if (start == answer.size()) return size;
  size_t at = 0;
  int32_t token = plan;
  for (; token < size && at < start; ++token) at += format_.tokenizer.TokenBytes(tokens[token]).size();
  return token;
}

}  // namespace tritogen::train
