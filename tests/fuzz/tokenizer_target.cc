// A tokenizer.json, then a text after a NUL byte: refused, or any text comes back from its ids.
#include <cstdint>
#include <string>

#include "base/error.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

namespace {

// The splits by hand are those of the regular expressions.
void CompareSplits(std::string_view text) {
  using namespace tritogen;
  text = text.substr(0, WellFormedPrefix(text));
  for (const auto pattern : {kGpt2Pattern, kQwenPattern, kLlamaPattern}) {
    static const SplitRegex regexes[] = {SplitRegex(kGpt2Pattern), SplitRegex(kQwenPattern),
                                         SplitRegex(kLlamaPattern)};
    const auto by_hand = HandSplit::For(pattern);
    SplitRegex::Matcher matcher(regexes[pattern == kGpt2Pattern ? 0 : pattern == kQwenPattern ? 1 : 2]);
    for (size_t at = 0, begin = 0, end = 0; at < text.size(); at = end) {
      TRITOGEN_CHECK(matcher.Find(text, at, &begin, &end) && begin == at);
      const size_t bytes = by_hand->Match(text, at);
      TRITOGEN_CHECK(bytes == 0 || bytes == end - at);
    }
  }
}

// Of a pre_tokenizer that was taken, so that its parts are what they should be.
bool AddsSpace(const nlohmann::json& pre_tokenizer) {
  const bool several = pre_tokenizer.at("type") == "Sequence";
  const nlohmann::json& last = several ? pre_tokenizer.at("pretokenizers").back() : pre_tokenizer;
  return last.value("add_prefix_space", true);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tritogen;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(input.find('\0'), input.size());
  CompareSplits(input.substr(cut < size ? cut : 0).substr(0, 2000));
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
                       !AddsSpace(file.pre_tokenizer) &&
                       file.pre_tokenizer.dump().find("Removed") == std::string::npos;
    if (plain) TRITOGEN_CHECK(tokenizer.Decode(ids) == text);
  } catch (const FormatError&) {
  } catch (const UserError&) {  // a regular expression that backtracks without end
  }
  return 0;
}
