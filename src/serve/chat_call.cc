#include "base/json_text.h"
#include "serve/body.h"
#include "serve/call.h"
#include "serve/call_options.h"

namespace tritogen::serve {
namespace {

using json = nlohmann::ordered_json;

[[noreturn]] void Fail(const std::string& where, const std::string& what) {
  throw ApiError(400, fmt::format("{}: {}", where, what), where);
}

// A string, or the texts of a list of parts, each on lines of its own.
std::string ReadContent(const json& content, const std::string& where) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array())
    Fail(where, fmt::format("expected a string or a list, got {}", content.type_name()));
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    const std::string part_at = fmt::format("{}[{}]", where, i);
    Body part(content[i], part_at);
    const std::string type = part.String("type").value_or("");
    if (type != "text") Fail(part.Path("type"), "only text is supported");
    const auto words = part.String("text");
    if (!words) Fail(part.Path("text"), "it is missing");
    if (i > 0) text += '\n';
    text += *words;
  }
  return text;
}

// Arguments of earlier calls of tools are JSON in a string; templates want the JSON.
void ReadToolCalls(json* calls, const std::string& where) {
  if (!calls->is_array()) Fail(where, fmt::format("expected a list, got {}", calls->type_name()));
  for (json& call : *calls) {
    if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) {
      Fail(where, "expected functions with their arguments");
    }
    json& function = call["function"];
    if (!function.contains("arguments") || !function["arguments"].is_string()) continue;
    try {
      function["arguments"] = ParseJsonInOrder(function["arguments"].get<std::string>());
    } catch (const FormatError& error) {
      Fail(where, fmt::format("arguments: {}", error.what()));
    }
  }
}

json ReadMessage(const json& given, const std::string& where) {
  if (!given.is_object()) Fail(where, fmt::format("expected a map, got {}", given.type_name()));
  json message = given;
  Body body(given, where);
  if (!body.String("role")) Fail(body.Path("role"), "it is missing");
  if (const json* calls = body.Find("tool_calls")) {
    message["tool_calls"] = *calls;
    ReadToolCalls(&message["tool_calls"], body.Path("tool_calls"));
  } else {
    message.erase("tool_calls");
  }
  if (const json* content = body.Find("content")) {
    message["content"] = ReadContent(*content, body.Path("content"));
  } else if (!message.contains("tool_calls")) {
    Fail(body.Path("content"), "it is missing");
  } else {
    message["content"] = "";
  }
  return message;
}

std::vector<TokenId> ReadMessages(Body* body, const ServedModel& model, Encoder* encoder) {
  const json* given = body->Find("messages");
  if (given == nullptr) body->Fail("messages", "they are missing");
  if (!given->is_array() || given->empty()) body->Fail("messages", "expected a list of messages");
  jinja::Value messages = jinja::Value::array();
  for (size_t i = 0; i < given->size(); ++i) {
    messages.push_back(jinja::Value(ReadMessage((*given)[i], fmt::format("messages[{}]", i))));
  }
  ChatOptions options{.add_generation_prompt = body->Bool("add_generation_prompt", true)};
  if (const json* variables = body->Find("chat_template_kwargs")) {
    if (!variables->is_object()) body->Fail("chat_template_kwargs", "expected a map");
    options.variables = *variables;
  }
  try {
    // The template writes all special tokens itself.
    return encoder->Encode(model.chat_template->Render(messages, options), {.add_special_tokens = false});
  } catch (const FormatError& error) {
    body->Fail("messages", fmt::format("the model's chat template refuses them: {}", error.what()));
  }
}

void ReadBudget(Body* body, Call* call) {
  const auto old = body->Int("max_tokens", 1, INT32_MAX);
  const auto budget = body->Int("max_completion_tokens", 1, INT32_MAX);
  call->options.max_tokens = static_cast<int32_t>(budget ? *budget : old.value_or(0));
}

void ReadLogprobs(Body* body, Call* call) {
  call->logprobs = body->Bool("logprobs", false);
  const auto top = body->Int("top_logprobs", 0, kMostTopLogprobs);
  if (top && *top > 0 && !call->logprobs) body->Fail("top_logprobs", "only together with logprobs");
  call->options.sampling.top_logprobs = static_cast<int32_t>(top.value_or(0));
}

}  // namespace

Call ParseChat(std::string_view text, const ServedModel& model, int32_t most_choices, Encoder* encoder) {
  if (model.chat_template == nullptr) {
    throw ApiError(404, "this model has no chat template; use /v1/completions", "model");
  }
  Body body(text);
  Call call{.kind = CallKind::kChat};
  ReadOptions(&body, model, most_choices, &call);
  ReadBudget(&body, &call);
  ReadLogprobs(&body, &call);
  for (const char* name : {"tools", "functions"}) body.Only(name, json::array(), "not supported");
  for (const char* name : {"tool_choice", "function_call"})
    body.Only(name, "none", "tools are not supported");
  body.Only("modalities", json::array({"text"}), "only text is supported");
  for (const char* name : {"audio", "prediction", "reasoning_effort", "verbosity", "web_search_options"}) {
    body.Only(name, nullptr, "not supported");
  }
  body.Ignore({"parallel_tool_calls"});
  call.prompts.push_back(ReadMessages(&body, model, encoder));
  body.Finish();
  CheckPrompts(call, model, most_choices, "messages");
  return call;
}

}  // namespace tritogen::serve
