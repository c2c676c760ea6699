#include "text/added_tokens.h"

#include <utf8proc.h>

#include <algorithm>

#include "base/utf8.h"
#include "text/unicode_additions.h"

namespace tritogen {
namespace {

// The last character of text; nothing for an empty text or a malformed end.
std::optional<char32_t> LastCharacter(std::string_view text, size_t* bytes) {
  for (*bytes = 1; *bytes <= std::min<size_t>(4, text.size()); ++*bytes) {
    const std::string_view tail = text.substr(text.size() - *bytes);
    if (Utf8CharacterBytes(tail) == *bytes) return DecodeUtf8(tail);
  }
  return std::nullopt;
}

std::optional<char32_t> FirstCharacter(std::string_view text, size_t* bytes) {
  *bytes = Utf8CharacterBytes(text);
  return *bytes == 0 ? std::nullopt : std::optional(DecodeUtf8(text));
}

bool TouchesWord(std::string_view before, std::string_view behind) {
  size_t bytes = 0;
  const auto last = LastCharacter(before, &bytes), first = FirstCharacter(behind, &bytes);
  return (last && IsWordCharacter(*last)) || (first && IsWordCharacter(*first));
}

size_t SpaceAtEnd(std::string_view text) {
  const size_t all = text.size();
  size_t bytes = 0;
  for (auto c = LastCharacter(text, &bytes); c && IsWhiteSpace(*c); c = LastCharacter(text, &bytes)) {
    text.remove_suffix(bytes);
  }
  return all - text.size();
}

size_t SpaceAtStart(std::string_view text) {
  const size_t all = text.size();
  size_t bytes = 0;
  for (auto c = FirstCharacter(text, &bytes); c && IsWhiteSpace(*c); c = FirstCharacter(text, &bytes)) {
    text.remove_prefix(bytes);
  }
  return all - text.size();
}

}  // namespace

bool IsWhiteSpace(char32_t c) {
  return (c >= 0x9 && c <= 0xd) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool IsWordCharacter(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      break;
  }
  return std::any_of(std::begin(kNewWordCharacters), std::end(kNewWordCharacters),
                     [&](const CodePointRange& range) { return range.low <= c && c <= range.high; });
}

AddedTokenFinder::AddedTokenFinder(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.text < b.text; });
  for (const Entry& entry : entries_) begins_[static_cast<uint8_t>(entry.text[0])] = true;
}

// Narrows the range of entries that agree with the text so far, a byte at a time. In sorted order the entry
// that ends here, if there is one, is the first of the range.
const AddedTokenFinder::Entry* AddedTokenFinder::LongestAt(std::string_view text) const {
  const Entry* longest = nullptr;
  auto low = entries_.begin(), high = entries_.end();
  for (size_t depth = 0; low != high; ++depth) {
    if (low->text.size() == depth) longest = &*low++;
    if (depth == text.size()) break;
    const auto byte_of = [&](const Entry& entry) { return static_cast<uint8_t>(entry.text[depth]); };
    const uint8_t byte = static_cast<uint8_t>(text[depth]);
    low = std::partition_point(low, high, [&](const Entry& entry) { return byte_of(entry) < byte; });
    high = std::partition_point(low, high, [&](const Entry& entry) { return byte_of(entry) == byte; });
  }
  return longest;
}

void AddedTokenFinder::Cut(std::string_view text, bool special_as_text, std::vector<Piece>* pieces) const {
  size_t done = 0, at = 0;
  while (!entries_.empty() && at < text.size()) {
    if (!begins_[static_cast<uint8_t>(text[at])]) {
      ++at;
      continue;
    }
    const Entry* entry = LongestAt(text.substr(at));
    if (!entry) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + entry->text.size();
    at = end;
    const AddedToken& token = entry->token;
    if (special_as_text && token.special) continue;
    if (token.single_word && TouchesWord(text.substr(0, begin), text.substr(end))) continue;
    if (token.lstrip) begin = std::max(begin - SpaceAtEnd(text.substr(0, begin)), done);
    if (token.rstrip) end += SpaceAtStart(text.substr(end));
    if (done < begin) pieces->push_back({text.substr(done, begin - done), nullptr});
    pieces->push_back({text.substr(begin, end - begin), &token});
    done = end;
  }
  if (done < text.size()) pieces->push_back({text.substr(done), nullptr});
}

}  // namespace tritogen
