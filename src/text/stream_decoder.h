// Text of a growing sequence of tokens, a piece at a time, in whole characters.
#pragma once

#include <string>

#include "text/tokenizer.h"

namespace tritogen {

// What Add and Finish give, one after another, is Decode of all the ids with malformed parts as U+FFFD.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true)
      : tokenizer_(tokenizer), skip_special_(skip_special) {}

  // The characters that are whole now; empty while a character waits for its other bytes.
  std::string Add(TokenId id);
  // What still waits, as U+FFFD; the decoder is then as new.
  std::string Finish();

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_;
  std::string waiting_;  // the beginning of a character, at most 3 bytes
};

}  // namespace tritogen
