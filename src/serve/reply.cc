#include "serve/reply.h"

#include <algorithm>
#include <utility>

namespace tritogen::serve {
namespace {

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string FinishName(FinishReason reason) {
  return reason == FinishReason::kStop ? "stop" : "length";
}

Json TextOrNull(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

// Characters that begin in these bytes.
int64_t Characters(std::string_view bytes) {
  return std::count_if(bytes.begin(), bytes.end(), [](char byte) { return (byte & 0xc0) != 0x80; });
}

}  // namespace

Reply::Reply(const Call& call, const ServedModel& model, std::string id, int64_t created)
    : model_(model),
      kind_(call.kind),
      n_(call.n),
      logprobs_(call.logprobs),
      stream_(call.stream),
      include_usage_(call.include_usage),
      skip_special_(call.options.skip_special_tokens),
      id_(std::move(id)),
      created_(created),
      choices_(call.choices()),
      open_(choices_.size()) {
  event_head_ = "data: " + Dump(Head(true));
  event_head_.back() = ',';  // the object goes on
  for (const auto& prompt : call.prompts) prompt_tokens_ += prompt.size();
  for (size_t i = 0; i < choices_.size(); ++i) {
    if (!call.echoes.empty()) choices_[i].text = call.echoes[i / n_];
    if (logprobs_) choices_[i].logprobs = NewLogprobs();
  }
}

Json Reply::NewLogprobs() const {
  return kind_ == CallKind::kChat ? Json{{"content", Json::array()}, {"refusal", nullptr}}
                                  : NewCompletionLogprobs();
}

Json Reply::Head(bool chunk) const {
  const char* object = kind_ == CallKind::kCompletion ? "text_completion"
                       : chunk                        ? "chat.completion.chunk"
                                                      : "chat.completion";
  return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_.name}};
}

void Reply::AddLogprobs(const Chunk& chunk, Choice* choice) const {
  const Tokenizer& tokenizer = *model_.tokenizer;
  for (const Sample& sample : chunk.samples) {
    if (kind_ == CallKind::kChat) {
      choice->logprobs["content"].push_back(ChatLogprob(sample, tokenizer));
      continue;
    }
    AddCompletionLogprob(sample, tokenizer, choice->characters, &choice->logprobs);
    const TokenId token = sample.chosen.token;
    const bool shown = !(skip_special_ && tokenizer.IsSpecial(token));
    if (shown) choice->characters += Characters(tokenizer.TokenBytes(token));
  }
}

std::string Reply::Add(size_t prompt, const Chunk& chunk) {
  const size_t index = prompt * n_ + chunk.index;
  TRITOGEN_CHECK(index < choices_.size() && choices_[index].finish.empty());
  Choice& choice = choices_[index];
  generated_tokens_ += static_cast<int64_t>(chunk.samples.size());
  choice.text += chunk.text;
  if (logprobs_) AddLogprobs(chunk, &choice);
  if (chunk.finish) {
    choice.finish = FinishName(*chunk.finish);
    --open_;
  }
  const bool news = !choice.text.empty() || chunk.finish || (logprobs_ && !chunk.samples.empty());
  if (!stream_ || !news) return "";
  return Event(index, &choice, std::exchange(choice.text, ""));
}

std::string Reply::Event(size_t index, Choice* choice, std::string text) const {
  Json logprobs = logprobs_ ? std::exchange(choice->logprobs, NewLogprobs()) : Json();
  std::string events;
  Json told = {{"index", index}};
  if (kind_ == CallKind::kCompletion) {
    told["text"] = std::move(text);
  } else {
    if (!std::exchange(choice->begun, true)) {
      told["delta"] = {{"role", "assistant"}, {"content", ""}};
      told["logprobs"] = nullptr;
      told["finish_reason"] = nullptr;
      events = EventOf(told);
    }
    told["delta"] = text.empty() && !logprobs_ ? Json::object() : Json{{"content", std::move(text)}};
  }
  told["logprobs"] = std::move(logprobs);
  told["finish_reason"] = TextOrNull(choice->finish);
  return events + EventOf(told);
}

std::string Reply::EventOf(const Json& choice) const {
  return event_head_ + "\"choices\":[" + Dump(choice) + (include_usage_ ? "],\"usage\":null}\n\n" : "]}\n\n");
}

Json Reply::Usage() const {
  return {{"prompt_tokens", prompt_tokens_},
          {"completion_tokens", generated_tokens_},
          {"total_tokens", prompt_tokens_ + generated_tokens_}};
}

Json Reply::WholeChoice(size_t index) const {
  const Choice& choice = choices_[index];
  Json whole = {{"index", index}};
  if (kind_ == CallKind::kChat) {
    whole["message"] = {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}};
  } else {
    whole["text"] = choice.text;
  }
  whole["logprobs"] = choice.logprobs;
  whole["finish_reason"] = choice.finish;
  return whole;
}

std::string Reply::Finish() const {
  TRITOGEN_CHECK(complete());
  if (stream_) {
    const std::string usage =
        include_usage_ ? event_head_ + "\"choices\":[],\"usage\":" + Dump(Usage()) + "}\n\n" : "";
    return usage + "data: [DONE]\n\n";
  }
  Json body = Head(false);
  Json& choices = body["choices"] = Json::array();
  for (size_t i = 0; i < choices_.size(); ++i) choices.push_back(WholeChoice(i));
  body["usage"] = Usage();
  return Dump(body);
}

std::string Reply::ErrorEvents(const ApiError& error) {
  return "data: " + error.Body() + "\n\ndata: [DONE]\n\n";
}

}  // namespace tritogen::serve
