#include "engine/sequence_output.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tritogen {

SequenceOutput::SequenceOutput(const GenerateOptions* options, const Tokenizer* tokenizer, int32_t index,
                               int32_t most)
    : options_(options), stops_(&options->stop), left_(most), chunk_{.index = index} {
  if (tokenizer != nullptr) decoder_.emplace(*tokenizer, options->skip_special_tokens);
}

bool SequenceOutput::Add(Sample sample) {
  if (std::isnan(sample.chosen.logprob)) {
    End(FinishReason::kError,
        "the model's logits are no numbers (NaN): are its weights damaged, or too large for their dtype?");
    return true;
  }
  const TokenId token = sample.chosen.token;
  chunk_.samples.push_back(std::move(sample));
  if (!options_->stop_tokens.empty() && std::ranges::binary_search(options_->stop_tokens, token)) {
    End(FinishReason::kStop);
    return true;
  }
  if (decoder_) {
    chunk_.text += stops_.Add(decoder_->Add(token));
    if (stops_.found()) {
      End(FinishReason::kStop);
      return true;
    }
  }
  if (--left_ > 0) return false;
  End(FinishReason::kLength);
  return true;
}

void SequenceOutput::End(FinishReason reason, std::string error) {
  if (decoder_) {
    chunk_.text += stops_.Add(decoder_->Finish());
    chunk_.text += stops_.Finish();
  }
  chunk_.finish = reason;
  chunk_.error = std::move(error);
}

Chunk SequenceOutput::Take() {
  return std::exchange(chunk_, Chunk{.index = chunk_.index});
}

}  // namespace tritogen
