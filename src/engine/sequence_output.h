// From a sequence's samples to its chunks: text, stops, the token budget.
#pragma once

#include <optional>

#include "engine/engine.h"
#include "engine/stop_strings.h"
#include "text/stream_decoder.h"

namespace tritogen {

class SequenceOutput {
 public:
  // `options` (stop tokens sorted) and the tokenizer, which may be null, outlive this. At most `most` tokens.
  SequenceOutput(const GenerateOptions* options, const Tokenizer* tokenizer, int32_t index, int32_t most);

  // True: the sequence ends with this sample.
  bool Add(Sample sample);
  void End(FinishReason reason, std::string error = "");

  // News since the last call.
  Chunk Take();

 private:
  const GenerateOptions* options_;
  std::optional<StreamDecoder> decoder_;
  StopStrings stops_;
  int32_t left_;  // tokens
  Chunk chunk_;
};

}  // namespace tritogen
