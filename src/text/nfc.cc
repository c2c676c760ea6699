#include "text/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "text/ascii_run.h"
#include "text/unicode_additions.h"

namespace tritogen {
namespace {

constexpr char32_t kFirstUnstable = 0x300;  // no character below it changes, wherever it stands
constexpr uint8_t kUnstableByte = 0xcc;     // with which UTF-8 of those from it on begins
constexpr char32_t kEnd = 0x30000;          // no character from it on changes

enum Kind : uint8_t {
  kInert,     // a starter that never changes nor joins what stands before it
  kActive,    // may change, move or join
  kStranger,  // newer than the normaliser: never changes, and nothing moves past it
};

int CombiningClass(utf8proc_int32_t point) {
  return utf8proc_get_property(point)->combining_class;
}

// Marks in a row, by class. utf8proc's own loop does it too, but by exchanging neighbours: in quadratic time,
// which a text from a stranger can make hours.
void SortMarks(std::vector<utf8proc_int32_t>* points) {
  const auto is_mark = [](utf8proc_int32_t point) { return CombiningClass(point) != 0; };
  for (auto begin = points->begin(); begin != points->end();) {
    begin = std::find_if(begin, points->end(), is_mark);
    const auto end = std::find_if_not(begin, points->end(), is_mark);
    std::stable_sort(begin, end, [](auto x, auto y) { return CombiningClass(x) < CombiningClass(y); });
    begin = end;
  }
}

void AppendNormalized(std::string_view text, std::string* out) {
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  std::vector<utf8proc_int32_t> points;
  while (!text.empty()) {
    utf8proc_int32_t parts[8];
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(DecodeUtf8(text)), parts, 8,
                                               kOptions, &boundary);
    TRITOGEN_CHECK(count >= 0 && count <= 8);
    points.insert(points.end(), parts, parts + count);
    text.remove_prefix(Utf8CharacterBytes(text));
  }
  SortMarks(&points);
  const auto size =
      utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()), kOptions);
  TRITOGEN_CHECK(size >= 0);
  points.resize(static_cast<size_t>(size));
  for (const utf8proc_int32_t point : points) AppendUtf8(static_cast<char32_t>(point), out);
}

bool ChangesAlone(char32_t c) {
  std::string text, normalized;
  AppendUtf8(c, &text);
  AppendNormalized(text, &normalized);
  return text != normalized;
}

std::vector<uint8_t> MakeKinds() {
  constexpr char32_t kHangul = 0xac00, kHangulEnd = 0xd7a4;  // never change alone
  std::vector<uint8_t> kinds(kEnd, kInert);
  for (char32_t c = 0xc0; c < kEnd; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    const auto point = static_cast<utf8proc_int32_t>(c);
    utf8proc_int32_t parts[8];
    int boundary = 0;
    const auto count = utf8proc_decompose_char(point, parts, 8, UTF8PROC_DECOMPOSE, &boundary);
    if (count > 1) kinds[parts[count - 1]] = kActive;  // what stands before may join it
    const bool decomposes = count > 1 || parts[0] != point;
    if (utf8proc_get_property(point)->combining_class != 0) kinds[c] = kActive;
    if (decomposes && !(c >= kHangul && c < kHangulEnd) && ChangesAlone(c)) kinds[c] = kActive;
  }
  for (const auto& [low, high] : kNfcStrangers) {
    for (char32_t c = low; c <= high; ++c) kinds[c] = kStranger;
  }
  return kinds;
}

const uint8_t* Kinds() {
  static const std::vector<uint8_t> kinds = MakeKinds();
  return kinds.data();
}

Kind KindOf(char32_t c) {
  return c < kFirstUnstable || c >= kEnd ? kInert : static_cast<Kind>(Kinds()[c]);
}

// Bytes before the first active character, without the last inert one, which it may join.
size_t StablePrefix(std::string_view text) {
  size_t at = 0, starter = 0;
  while (at < text.size()) {
    const auto first = static_cast<uint8_t>(text[at]);
    if (first < kUnstableByte) {
      at = first < 0x80 ? AsciiEnd(text, at) : at + 2;
      starter = at - (first < 0x80 ? 1 : 2);
      continue;
    }
    const Kind kind = KindOf(DecodeUtf8(text.substr(at)));
    if (kind == kActive) return starter;
    const size_t bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    starter = kind == kStranger ? at + bytes : at;
    at += bytes;
  }
  return at;
}

// Bytes up to where a new stretch begins: the first inert character or stranger after the first active one.
size_t ActiveBytes(std::string_view text) {
  size_t at = 0;
  bool active = false;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    const Kind kind = KindOf(DecodeUtf8(rest));
    if (kind == kStranger || (kind == kInert && active)) break;
    active |= kind == kActive;
    at += Utf8CharacterBytes(rest);
  }
  return at;
}

}  // namespace

std::string_view Nfc(std::string_view text, std::string* scratch) {
  size_t stable = StablePrefix(text);
  if (stable == text.size()) return text;
  scratch->clear();
  while (!text.empty()) {
    scratch->append(text.substr(0, stable));
    text.remove_prefix(stable);
    if (text.empty()) break;
    const size_t bytes = ActiveBytes(text);
    AppendNormalized(text.substr(0, bytes), scratch);
    text.remove_prefix(bytes);
    stable = StablePrefix(text);
  }
  return *scratch;
}

}  // namespace tritogen
