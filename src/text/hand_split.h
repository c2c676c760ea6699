// The splits of GPT-2, Qwen and Llama 3 by hand, several times faster than the regular expression, which
// stays for other patterns, for what is left here, and as the twin that tests compare this with.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace tritogen {

// The patterns that are known by hand, as they stand in tokenizer.json.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kQwenPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kLlamaPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

class HandSplit {
 public:
  // Nothing when the pattern is another one.
  static std::optional<HandSplit> For(std::string_view pattern);

  // Bytes of the match of the pattern at `at`; 0: ask the regular expression. REQUIRES: text is UTF-8, at is
  // a character's start.
  size_t Match(std::string_view text, size_t at) const;

 private:
  HandSplit(bool gpt2, size_t digits) : gpt2_(gpt2), digits_(digits) {}

  size_t Contraction(std::string_view text, size_t at) const;
  size_t Space(std::string_view text, size_t at) const;

  bool gpt2_;
  size_t digits_;  // at most so many make one word
};

}  // namespace tritogen
