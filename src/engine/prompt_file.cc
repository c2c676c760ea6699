#include "engine/prompt_file.h"

#include <fmt/format.h>

#include <map>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/text.h"

namespace tritogen {
namespace {

using json = nlohmann::ordered_json;

constexpr size_t kMostBytes = size_t{4} << 30;

void ReadLine(std::string_view line, Prompt* prompt) {
  const json object = ParseJsonInOrder(line);
  if (!object.is_object()) throw FormatError("not a JSON object");
  if (object.contains("id")) {
    const json& id = object["id"];
    prompt->id = id.is_string() ? id.get<std::string>() : id.dump();
  }
  const bool has_text = object.contains("prompt"), has_messages = object.contains("messages");
  if (has_text == has_messages) throw FormatError("there must be either 'prompt' or 'messages'");
  if (has_messages) {
    prompt->messages = object["messages"];
    if (!prompt->messages.is_array() || prompt->messages.empty())
      throw FormatError("'messages' is no array of messages");
  } else {
    if (!object["prompt"].is_string()) throw FormatError("'prompt' is no text");
    prompt->text = object["prompt"].get<std::string>();
  }
}

}  // namespace

std::vector<Prompt> ParsePrompts(std::string_view text, const std::string& path) {
  std::vector<Prompt> prompts;
  std::map<std::string, int64_t> numbers;
  for (int64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = Trimmed(TakeLine(&text));
    if (line.empty()) continue;
    Prompt prompt{.id = fmt::format("line {}", number), .number = number - 1};
    try {
      ReadLine(line, &prompt);
    } catch (const FormatError& error) {
      prompt.fault = fmt::format("line {}: {}", number, error.what());
    }
    const auto [first, fresh] = numbers.emplace(prompt.id, number);
    if (!fresh) {
      throw UserError(fmt::format("{}: lines {} and {} have the same id '{}'; give each prompt its own", path,
                                  first->second, number, prompt.id));
    }
    prompts.push_back(std::move(prompt));
  }
  if (prompts.empty()) throw UserError(fmt::format("'{}' holds no prompt", path));
  return prompts;
}

std::vector<Prompt> ReadPrompts(const std::string& path) {
  return ParsePrompts(ReadFile(path, kMostBytes), path);
}

Prompt AsChat(Prompt prompt) {
  if (prompt.messages.is_null()) prompt.messages = {{{"role", "user"}, {"content", prompt.text}}};
  return prompt;
}

std::vector<TokenId> EncodePrompt(const Prompt& prompt, const ChatTemplate* chat_template,
                                  const std::string& why_no_chat, Encoder* encoder) {
  if (prompt.messages.is_null()) return encoder->Encode(prompt.text);
  if (chat_template == nullptr)
    throw UserError(fmt::format(
        "the model has no chat template; give the prompt as text, without --chat ({})", why_no_chat));
  std::string text;
  try {
    text = chat_template->Render(prompt.messages);
  } catch (const FormatError& error) {
    throw UserError(fmt::format("the chat template: {}", error.what()));
  }
  return encoder->Encode(text, {.add_special_tokens = false});  // the template has them
}

}  // namespace tritogen
