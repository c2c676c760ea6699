// What bodies of both endpoints share.
#pragma once

#include "serve/body.h"
#include "serve/call.h"

namespace tritogen::serve {

// Everything but prompts, messages, logprobs and budgets of tokens.
void ReadOptions(Body* body, const ServedModel& model, int32_t most_choices, Call* call);

// Throws ApiError unless each prompt fits the context, and all choices the server. `param`: where the prompts
// were.
void CheckPrompts(const Call& call, const ServedModel& model, int32_t most_choices, const std::string& param);

}  // namespace tritogen::serve
