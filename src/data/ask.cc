#include "data/ask.h"

#include "base/error.h"

namespace tritogen::data {

std::vector<std::optional<ChatReply>> AskAbout(
    const std::vector<const Record*>& records, const StageTools& tools, const PromptTemplate& prompt,
    const std::function<void(const Record&, PromptValues*)>& change) {
  ChatModel* chat = ChatOf(tools);
  TRITOGEN_CHECK(chat != nullptr);
  std::vector<ChatRequest> requests;
  for (const Record* record : records) {
    PromptValues values =
        ValuesOf(prompt, {.source = record->reference, .program = record->program}, prompt.body);
    values["code"] = record->source;
    change(*record, &values);
    requests.push_back({.messages = MessagesOf(prompt, values), .purpose = prompt.name});
  }
  std::vector<std::optional<ChatReply>> replies;
  for (ChatResult& result : chat->Ask(requests)) {
    auto* reply = std::get_if<ChatReply>(&result);
    const auto* failure = std::get_if<ChatFailure>(&result);
    if (failure != nullptr && failure->outage()) throw UserError(failure->message);
    replies.push_back(reply != nullptr && !reply->cut_off() ? std::optional(std::move(*reply))
                                                            : std::nullopt);
  }
  return replies;
}

}  // namespace tritogen::data
