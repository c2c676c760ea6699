// Logarithms of probabilities in OpenAI's two forms.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/runner.h"
#include "text/tokenizer.h"

namespace tritogen::serve {

using Json = nlohmann::ordered_json;

// One entry of "content" of a chat's logprobs: {"token", "logprob", "bytes", "top_logprobs"}. The token's
// text has U+FFFD where its bytes are no UTF-8; "bytes" are its own.
Json ChatLogprob(const Sample& sample, const Tokenizer& tokenizer);

// The four lists of a completion's logprobs, empty; and a sample at their ends. `offset`: characters of text
// before the token. A token that is no UTF-8 is spelled "bytes:\xe2\x82", as OpenAI does, since here its text
// is a key, too.
Json NewCompletionLogprobs();
void AddCompletionLogprob(const Sample& sample, const Tokenizer& tokenizer, int64_t offset, Json* lists);

}  // namespace tritogen::serve
