// tokenizer.json as Hugging Face's tokenizers write it (docs/tokenizer.md says which parts are understood).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe.h"

namespace tritogen {

// A text that becomes one token wherever it occurs, before anything else is split.
struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // … behind it
  bool normalized = false;   // looked for in the normalised text, and normalised itself
  bool special = false;      // left out of decoded text when asked
};

struct TokenizerFile {
  BpeTables model;
  std::vector<AddedToken> added_tokens;  // by ascending id
  // As in the file, null where absent; PreTokenizer and Tokenizer read them.
  nlohmann::json normalizer, pre_tokenizer, post_processor, decoder;
  nlohmann::json truncation, padding;  // kept for the file; never applied here
};

// Throws FormatError (what, where in the JSON) for what is no such file and for models that are not
// byte-level BPE.
TokenizerFile ParseTokenizerFile(std::string_view text);

// The same tokenizer as text: what Hugging Face writes, merges as pairs, vocabulary by id.
std::string WriteTokenizerFile(const TokenizerFile& file);

}  // namespace tritogen
