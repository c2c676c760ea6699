#include "text/hand_split.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "text/split_regex.h"

namespace tritogen {
namespace {

enum Kind : uint8_t { kOther, kLetter, kDigit, kSpace, kBeyond };  // kBeyond: not ASCII, look closer

constexpr std::array<Kind, 256> kBytes = [] {
  std::array<Kind, 256> kinds{};
  for (int c = 0; c < 256; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool space = c == ' ' || (c >= 9 && c <= 13);
    kinds[c] = c > 127 ? kBeyond : letter ? kLetter : c >= '0' && c <= '9' ? kDigit : space ? kSpace : kOther;
  }
  return kinds;
}();

// Behind it are no letters, numbers and spaces: planes without characters, tags and private use.
constexpr char32_t kCodePoints = 0x40000;

// By code point; the regular expressions themselves say what is what.
std::vector<Kind> MakeKinds() {
  std::string all;
  std::vector<uint32_t> begins(kCodePoints + 1);
  for (char32_t c = 0; c < kCodePoints; ++c) {
    begins[c] = static_cast<uint32_t>(all.size());
    if (c < 0xd800 || c >= 0xe000) AppendUtf8(c, &all);
  }
  begins[kCodePoints] = static_cast<uint32_t>(all.size());
  std::vector<Kind> kinds(kCodePoints, kOther);
  for (const auto& [pattern, kind] :
       {std::pair("\\p{L}+", kLetter), std::pair("\\p{N}+", kDigit), std::pair("\\s+", kSpace)}) {
    const SplitRegex regex(pattern);
    SplitRegex::Matcher matcher(regex);
    size_t from = 0, begin = 0, end = 0;
    for (char32_t c = 0; matcher.Find(all, from, &begin, &end); from = end) {
      while (begins[c] < begin) ++c;
      for (; begins[c] < end; ++c) kinds[c] = kind;
    }
  }
  return kinds;
}

// Some 20 ms the first time, which texts without characters beyond ASCII never pay.
const Kind* Kinds() {
  static const std::vector<Kind> kinds = MakeKinds();
  return kinds.data();
}

struct Character {
  Kind kind;
  uint8_t bytes;
};

Character BeyondAscii(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[at + i])); };
  const uint32_t first = byte(0);
  const Kind* kinds = Kinds();
  if (first < 0xe0) return {kinds[(first & 0x1f) << 6 | (byte(1) & 0x3f)], 2};
  const uint32_t middle = (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
  if (first < 0xf0) return {kinds[(first & 0x0f) << 12 | middle], 3};
  const uint32_t c = (first & 0x07) << 18 | middle << 6 | (byte(3) & 0x3f);
  return {c < kCodePoints ? kinds[c] : kOther, 4};
}

inline Character CharacterAt(std::string_view text, size_t at) {
  const Kind kind = kBytes[static_cast<uint8_t>(text[at])];
  return kind == kBeyond ? BeyondAscii(text, at) : Character{kind, 1};
}

bool IsNewline(char c) {
  return c == '\r' || c == '\n';
}
constexpr size_t kAsk = 0;

size_t RunEndBeyondAscii(std::string_view text, size_t at, Kind kind, size_t limit) {
  for (; limit > 0 && at < text.size(); --limit) {
    const Character c = CharacterAt(text, at);
    if (c.kind != kind) break;
    at += c.bytes;
  }
  return at;
}

// Where the run of `kind` from `at` ends; it has at most `limit` characters.
inline size_t RunEnd(std::string_view text, size_t at, Kind kind, size_t limit = ~size_t{0}) {
  const size_t begin = at, end = limit < text.size() - at ? at + limit : text.size();
  while (at < end && kBytes[static_cast<uint8_t>(text[at])] == kind) ++at;  // most text is ASCII
  if (at == end || kBytes[static_cast<uint8_t>(text[at])] != kBeyond) return at;
  return RunEndBeyondAscii(text, at, kind, limit - (at - begin));
}

}  // namespace

std::optional<HandSplit> HandSplit::For(std::string_view pattern) {
  if (pattern == kGpt2Pattern) return HandSplit(true, ~size_t{0});
  if (pattern == kQwenPattern) return HandSplit(false, 1);
  if (pattern == kLlamaPattern) return HandSplit(false, 3);
  return std::nullopt;
}

// 's 't 're 've 'm 'll 'd, in any case but for GPT-2. 0: there is none.
size_t HandSplit::Contraction(std::string_view text, size_t at) const {
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

// \s*[\r\n]+|\s+(?!\S)|\s+ (GPT-2: without the first)
size_t HandSplit::Space(std::string_view text, size_t at) const {
  size_t end = at, last = at,
         newlines = at;  // of the run, its last character's begin, its last newline's end
  while (end < text.size()) {
    const Character c = CharacterAt(text, end);
    if (c.kind != kSpace) break;
    last = end;
    end += c.bytes;
    if (IsNewline(text[last])) newlines = end;
  }
  if (!gpt2_ && newlines > at) return newlines - at;
  return end == text.size() || last == at ? end - at : last - at;  // the last one belongs to what follows
}

size_t HandSplit::Match(std::string_view text, size_t at) const {
  const Character first = CharacterAt(text, at);
  const size_t second = at + first.bytes;
  if (first.kind == kLetter) return RunEnd(text, second, kLetter) - at;
  if (first.kind == kDigit) return RunEnd(text, at, kDigit, digits_) - at;
  if (text[at] == '\'') {
    if (const size_t bytes = Contraction(text, at); bytes != 0) return bytes;
    constexpr std::string_view kLongS = "\u017f";  // an s where case does not matter
    if (text.substr(second).starts_with(kLongS)) return kAsk;
  }
  const Kind next = second < text.size() ? CharacterAt(text, second).kind : kSpace;
  const bool blank = text[at] == ' ';
  const bool leads_letters = gpt2_ ? blank : !IsNewline(text[at]);
  if (next == kLetter && leads_letters) return RunEnd(text, second, kLetter) - at;
  if (next == kDigit && gpt2_ && blank) return RunEnd(text, second, kDigit) - at;
  if (first.kind == kSpace && !(blank && next == kOther)) return Space(text, at);
  size_t end = RunEnd(text, second, kOther);
  while (!gpt2_ && end < text.size() && IsNewline(text[end])) ++end;
  return end - at;
}

}  // namespace tritogen
