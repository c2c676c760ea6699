#include "text/ascii_split.h"

#include <array>
#include <cstdint>

namespace tritogen {
namespace {

enum Kind : uint8_t { kOther, kLetter, kDigit, kSpace, kBeyond };  // kBeyond: not ASCII

constexpr std::array<Kind, 256> kKinds = [] {
  std::array<Kind, 256> kinds{};
  for (int c = 0; c < 256; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool space = c == ' ' || (c >= 9 && c <= 13);
    kinds[c] = c > 127 ? kBeyond : letter ? kLetter : c >= '0' && c <= '9' ? kDigit : space ? kSpace : kOther;
  }
  return kinds;
}();

Kind KindAt(std::string_view text, size_t at) {
  return kKinds[static_cast<uint8_t>(text[at])];
}
bool IsNewline(char c) {
  return c == '\r' || c == '\n';
}
constexpr size_t kAsk = 0;

// Where the run of `kind` from `at` ends; it has at most `limit` characters.
size_t RunEnd(std::string_view text, size_t at, Kind kind, size_t limit = ~size_t{0}) {
  const size_t end = limit < text.size() - at ? at + limit : text.size();
  while (at < end && KindAt(text, at) == kind) ++at;
  return at;
}

// The length of a word that begins at `at` and ends before `end`, unless a character beyond ASCII may go on
// with it.
size_t Word(std::string_view text, size_t at, size_t end) {
  return end < text.size() && KindAt(text, end) == kBeyond ? kAsk : end - at;
}

}  // namespace

std::optional<AsciiSplit> AsciiSplit::For(std::string_view pattern) {
  if (pattern == kGpt2Pattern) return AsciiSplit(true, ~size_t{0});
  if (pattern == kQwenPattern) return AsciiSplit(false, 1);
  if (pattern == kLlamaPattern) return AsciiSplit(false, 3);
  return std::nullopt;
}

// 's 't 're 've 'm 'll 'd, in any case but for GPT-2. 0: there is none.
size_t AsciiSplit::Contraction(std::string_view text, size_t at) const {
  const auto letter = [&](size_t i) {
    const char c = at + i < text.size() ? text[at + i] : '\0';
    return gpt2_ || c < 'A' || c > 'Z' ? c : static_cast<char>(c + 32);
  };
  const char first = letter(1), second = letter(2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  const bool two =
      (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l');
  return two ? 3 : 0;
}

size_t AsciiSplit::Space(std::string_view text, size_t at) const {
  const size_t end = RunEnd(text, at, kSpace);
  if (end < text.size() && KindAt(text, end) == kBeyond) return kAsk;  // may be white space, too
  if (!gpt2_) {
    for (size_t i = end; i > at; --i) {
      if (IsNewline(text[i - 1])) return i - at;
    }
  }
  return end == text.size() || end - at == 1 ? end - at
                                             : end - at - 1;  // the last one belongs to what follows
}

size_t AsciiSplit::Match(std::string_view text, size_t at) const {
  const Kind kind = KindAt(text, at);
  if (kind == kLetter) return Word(text, at, RunEnd(text, at, kLetter));
  if (kind == kDigit) {
    const size_t end = RunEnd(text, at, kDigit, digits_);
    return end - at == digits_ ? digits_ : Word(text, at, end);
  }
  if (kind == kBeyond) return kAsk;
  const Kind next = at + 1 < text.size() ? KindAt(text, at + 1) : kSpace;
  if (next == kBeyond) return kAsk;
  const bool blank = text[at] == ' ';
  if (text[at] == '\'') {
    if (const size_t bytes = Contraction(text, at); bytes != 0) return bytes;
  }
  const bool leads_letters = gpt2_ ? blank : !IsNewline(text[at]);
  if (next == kLetter && leads_letters) return Word(text, at, RunEnd(text, at + 1, kLetter));
  if (next == kDigit && gpt2_ && blank) return Word(text, at, RunEnd(text, at + 1, kDigit));
  if (kind == kSpace && !(blank && next == kOther)) return Space(text, at);
  size_t end = RunEnd(text, at + (blank ? 1 : 0), kOther);
  if (end < text.size() && KindAt(text, end) == kBeyond) return kAsk;
  while (!gpt2_ && end < text.size() && IsNewline(text[end])) ++end;
  return end - at;
}

}  // namespace tritogen
