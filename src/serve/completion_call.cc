#include "serve/body.h"
#include "serve/call.h"
#include "serve/call_options.h"

namespace tritogen::serve {
namespace {

using json = nlohmann::ordered_json;

constexpr int64_t kUsualMaxTokens = 16;  // OpenAI's

bool AreIds(const json& value) {
  return value.is_array() && !value.empty() && value[0].is_number();
}

std::vector<TokenId> ReadIds(const Body& body, const json& ids, const ServedModel& model) {
  std::vector<TokenId> prompt;
  prompt.reserve(ids.size());
  for (const json& id : ids) {
    const bool good = id.is_number_unsigned() && id.get<uint64_t>() < uint64_t(model.limits.vocabulary);
    if (!good) {
      body.Fail("prompt", fmt::format("expected ids of tokens, from 0 to {}", model.limits.vocabulary - 1));
    }
    prompt.push_back(id.get<TokenId>());
  }
  return prompt;
}

void AddPrompt(const Body& body, const json& prompt, const ServedModel& model, Encoder* encoder, Call* call) {
  if (prompt.is_string()) {
    call->prompts.push_back(encoder->Encode(prompt.get_ref<const std::string&>()));
  } else if (AreIds(prompt)) {
    call->prompts.push_back(ReadIds(body, prompt, model));
  } else {
    body.Fail("prompt", "expected a string, a list of strings, a list of token ids or a list of such lists");
  }
}

void ReadPrompts(Body* body, const ServedModel& model, int32_t most_choices, Encoder* encoder, Call* call) {
  const json* prompt = body->Find("prompt");
  if (prompt == nullptr) body->Fail("prompt", "it is missing");
  const bool several = prompt->is_array() && !AreIds(*prompt);
  if (several && prompt->empty()) body->Fail("prompt", "the list is empty");
  if (several && prompt->size() > static_cast<size_t>(most_choices)) {
    body->Fail("prompt", fmt::format("{} prompts, at most {} are allowed", prompt->size(), most_choices));
  }
  const auto add = [&](const json& one) { AddPrompt(*body, one, model, encoder, call); };
  const bool echo = body->Bool("echo", false);
  if (echo && call->logprobs) body->Fail("echo", "not supported together with logprobs");
  if (several) {
    for (const json& one : *prompt) add(one);
  } else {
    add(*prompt);
  }
  if (!echo) return;
  for (size_t i = 0; i < call->prompts.size(); ++i) {
    const json& one = several ? (*prompt)[i] : *prompt;
    call->echoes.push_back(one.is_string() ? one.get<std::string>()
                                           : model.tokenizer->Decode(call->prompts[i]));
  }
}

}  // namespace

Call ParseCompletion(std::string_view text, const ServedModel& model, int32_t most_choices,
                     Encoder* encoder) {
  Body body(text);
  Call call{.kind = CallKind::kCompletion};
  ReadOptions(&body, model, most_choices, &call);
  call.options.max_tokens =
      static_cast<int32_t>(body.Int("max_tokens", 1, INT32_MAX).value_or(kUsualMaxTokens));
  if (const auto top = body.Int("logprobs", 0, kMostTopLogprobs)) {
    call.logprobs = true;
    call.options.sampling.top_logprobs = static_cast<int32_t>(*top);
  }
  body.Only("best_of", call.n, "not supported, unless it is n");
  body.Only("suffix", "", "not supported");
  ReadPrompts(&body, model, most_choices, encoder, &call);
  body.Finish();
  CheckPrompts(call, model, most_choices, "prompt");
  return call;
}

}  // namespace tritogen::serve
