#include "text/chat_template.h"

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json_text.h"

namespace tritogen {
namespace {

using jinja::Value;
namespace fs = std::filesystem;

constexpr size_t kMaxConfig = size_t{64} << 20, kMaxTemplate = size_t{1} << 20;

// A token is a text, or a map with its "content".
Value SpecialTokens(const nlohmann::json& config) {
  Value tokens = Value::object();
  for (const char* name : {"bos_token", "eos_token", "pad_token", "unk_token"}) {
    const auto found = config.find(name);
    if (found == config.end()) continue;
    const auto& token = found->is_object() && found->contains("content") ? found->at("content") : *found;
    if (token.is_string()) tokens[name] = token.get<std::string>();
  }
  return tokens;
}

std::string TemplateIn(const nlohmann::json& config) {
  const auto found = config.find("chat_template");
  if (found != config.end() && found->is_string()) return found->get<std::string>();
  if (found != config.end() && found->is_array()) {
    for (const auto& named : *found) {
      if (!named.is_object() || named.value("name", nlohmann::json()) != "default") continue;
      if (const auto text = named.find("template"); text != named.end() && text->is_string()) return *text;
    }
  }
  throw FormatError("there is no chat_template; this model is no chat model");
}

}  // namespace

ChatTemplate::ChatTemplate(std::string_view source, Value special_tokens)
    : statements_(jinja::Parse(source)), special_tokens_(std::move(special_tokens)) {}

std::string ChatTemplate::Render(const Value& messages, const ChatOptions& options) const {
  if (!messages.is_array()) throw FormatError("messages: expected an array");
  for (size_t i = 0; i < messages.size(); ++i) {
    const bool good =
        messages[i].is_object() && messages[i].contains("role") && messages[i]["role"].is_string();
    if (!good) throw FormatError(fmt::format("messages[{}]: expected a map with a role", i));
  }
  Value variables = special_tokens_;
  variables["tools"] = nullptr;
  variables["documents"] = nullptr;
  variables["add_generation_prompt"] = options.add_generation_prompt;
  variables["messages"] = messages;
  for (const auto& [name, value] : options.variables.items()) variables[name] = value;
  return jinja::Render(statements_, variables);
}

Value ToJson(const std::vector<ChatMessage>& messages) {
  Value json = Value::array();
  for (const auto& [role, content] : messages) json.push_back({{"role", role}, {"content", content}});
  return json;
}

ChatTemplate LoadChatTemplate(const fs::path& folder) {
  const fs::path config_path = folder / "tokenizer_config.json",
                 template_path = folder / "chat_template.jinja";
  fs::path at = config_path;
  try {
    const auto config =
        Exists(config_path) ? ParseJson(ReadFile(config_path, kMaxConfig)) : nlohmann::json::object();
    if (!config.is_object()) throw FormatError("expected a map");
    const Value special_tokens = SpecialTokens(config);
    if (!Exists(template_path)) return ChatTemplate(TemplateIn(config), special_tokens);
    at = template_path;
    return ChatTemplate(ReadFile(template_path, kMaxTemplate), special_tokens);
  } catch (const FormatError& error) {
    throw UserError(fmt::format("{}: {}", at.string(), error.what()));
  }
}

FoundChatTemplate FindChatTemplate(const fs::path& folder) {
  try {
    return {LoadChatTemplate(folder), ""};
  } catch (const UserError& error) {
    return {std::nullopt, error.what()};
  }
}

}  // namespace tritogen
