// What stages ask a chat model: a built-in prompt, filled in with a record.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/record.h"
#include "data/stage.h"
#include "propose/chat_model.h"
#include "text/prompt.h"

namespace tritogen::data {

// One answer for each record, in order; nothing where this request was refused or its answer cut off. Throws
// UserError where the endpoint is out: the build goes on when it is back. `change` may set more values of the
// template. REQUIRES: tools.teacher->chat() is there.
std::vector<std::optional<ChatReply>> AskAbout(
    const std::vector<const Record*>& records, const StageTools& tools, const PromptTemplate& prompt,
    const std::function<void(const Record&, PromptValues*)>& change = [](const Record&, PromptValues*) {});

inline ChatModel* ChatOf(const StageTools& tools) {
  return tools.teacher == nullptr ? nullptr : tools.teacher->chat();
}

}  // namespace tritogen::data
