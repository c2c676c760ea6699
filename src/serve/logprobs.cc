#include "serve/logprobs.h"

#include <fmt/format.h>

#include <cmath>

#include "base/utf8.h"

namespace tritogen::serve {
namespace {

// JSON has no infinities; OpenAI writes this for "never". NaN becomes null.
constexpr float kNever = -9999;

Json Number(float logprob) {
  return std::isinf(logprob) ? kNever : logprob;
}

std::string Spelled(std::string_view bytes) {
  if (IsUtf8(bytes)) return std::string(bytes);
  std::string spelled = "bytes:";
  for (const char byte : bytes) spelled += fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
  return spelled;
}

Json ChatEntry(const TokenLogprob& one, const Tokenizer& tokenizer) {
  const std::string_view bytes = tokenizer.TokenBytes(one.token);
  Json list = Json::array();
  for (const char byte : bytes) list.push_back(static_cast<uint8_t>(byte));
  return {
      {"token", ReplaceMalformedUtf8(bytes)}, {"logprob", Number(one.logprob)}, {"bytes", std::move(list)}};
}

}  // namespace

Json ChatLogprob(const Sample& sample, const Tokenizer& tokenizer) {
  Json entry = ChatEntry(sample.chosen, tokenizer);
  Json& top = entry["top_logprobs"] = Json::array();
  for (const TokenLogprob& one : sample.top) top.push_back(ChatEntry(one, tokenizer));
  return entry;
}

Json NewCompletionLogprobs() {
  Json lists = Json::object();
  for (const char* name : {"tokens", "token_logprobs", "top_logprobs", "text_offset"})
    lists[name] = Json::array();
  return lists;
}

void AddCompletionLogprob(const Sample& sample, const Tokenizer& tokenizer, int64_t offset, Json* lists) {
  const std::string chosen = Spelled(tokenizer.TokenBytes(sample.chosen.token));
  Json top = Json::object();
  for (const TokenLogprob& one : sample.top)
    top[Spelled(tokenizer.TokenBytes(one.token))] = Number(one.logprob);
  top[chosen] = Number(sample.chosen.logprob);
  (*lists)["tokens"].push_back(chosen);
  (*lists)["token_logprobs"].push_back(Number(sample.chosen.logprob));
  (*lists)["top_logprobs"].push_back(std::move(top));
  (*lists)["text_offset"].push_back(offset);
}

}  // namespace tritogen::serve
