// For tests: the model behind the server, with a small tokenizer and Qwen3's chat template.
#pragma once

#include "base/atomic_file.h"
#include "serve/call.h"

namespace tritogen::serve {

struct TestModel {
  Tokenizer tokenizer = LoadTokenizer(TRITOGEN_SOURCE_DIR "/tests/golden/tokenizers/qwen3.json");
  ChatTemplate chat_template{ReadFile(TRITOGEN_SOURCE_DIR "/tests/golden/chat/qwen3.jinja")};
  Encoder encoder{tokenizer};
  ServedModel served{.name = "tiny",
                     .created = 1,
                     .tokenizer = &tokenizer,
                     .chat_template = &chat_template,
                     .defaults = {.stop_tokens = {*tokenizer.Find("<|im_end|>")}},
                     .limits = {.slots = 8, .context = 128, .vocabulary = tokenizer.id_end()}};
};

}  // namespace tritogen::serve
