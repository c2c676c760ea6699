// A tokenizer.json, then a text after a NUL byte: refused, or any text comes back from its ids.
#include <cstdint>
#include <string>

#include "base/error.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tritogen;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(input.find('\0'), input.size());
  try {
    const TokenizerFile file = ParseTokenizerFile(input.substr(0, cut));
    const Tokenizer tokenizer(file);
    TRITOGEN_CHECK(WriteTokenizerFile(ParseTokenizerFile(WriteTokenizerFile(file))) ==
                   WriteTokenizerFile(file));
    Encoder encoder(tokenizer);
    const std::string_view text = cut < size ? input.substr(cut) : input.substr(0, 500);
    const auto ids = encoder.Encode(text, {.add_special_tokens = false, .special_as_text = true});
    StreamDecoder stream(tokenizer);
    for (const TokenId id : ids) stream.Add(id);
    const bool plain = file.normalizer.is_null() && file.added_tokens.empty() &&
                       file.pre_tokenizer.dump().find("add_prefix_space\":false") != std::string::npos &&
                       file.pre_tokenizer.dump().find("Removed") == std::string::npos;
    if (plain) TRITOGEN_CHECK(tokenizer.Decode(ids) == text);
  } catch (const FormatError&) {
  } catch (const UserError&) {  // a regular expression that backtracks without end
  }
  return 0;
}
