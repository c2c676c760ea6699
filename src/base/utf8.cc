#include "base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace tritogen {
size_t Utf8CharacterBytes(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; };
  auto tail = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const uint8_t first = byte(0);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const uint8_t low = first == 0xe0 ? 0xa0 : 0x80, high = first == 0xed ? 0x9f : 0xbf;
    return byte(1) >= low && byte(1) <= high && tail(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const uint8_t low = first == 0xf0 ? 0x90 : 0x80, high = first == 0xf4 ? 0x8f : 0xbf;
    return byte(1) >= low && byte(1) <= high && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

size_t Utf8MalformedBytes(std::string_view text) {
  for (size_t bytes = std::min<size_t>(text.size(), 3); bytes > 1; --bytes) {
    // The beginning of a character: some continuation makes it whole.
    for (const char* tail : {"\x80\x80", "\xbf\xbf"}) {
      const std::string completed = std::string(text.substr(0, bytes)) + tail;
      if (Utf8CharacterBytes(completed) > bytes) return bytes;
    }
  }
  return 1;
}

char32_t DecodeUtf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<uint8_t>(text[i])); };
  const char32_t first = byte(0);
  if (first < 0x80) return first;
  if (first < 0xe0) return (first & 0x1f) << 6 | (byte(1) & 0x3f);
  if (first < 0xf0) return (first & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
  return (first & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
}

void AppendUtf8(char32_t c, std::string* out) {
  const auto put = [&](char32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xe0 | c >> 12);
    } else {
      put(0xf0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3f));
    }
    put(0x80 | (c >> 6 & 0x3f));
  }
  put(0x80 | (c & 0x3f));
}

std::string ReplaceMalformedUtf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t good = Utf8CharacterBytes(text), bytes = good != 0 ? good : Utf8MalformedBytes(text);
    out += good != 0 ? text.substr(0, bytes) : "\xef\xbf\xbd";
    text.remove_prefix(bytes);
  }
  return out;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = Utf8CharacterBytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

namespace {

// What moves the cursor, hides text or turns its direction round: lines of a verdict would look like others.
bool IsControl(std::string_view character) {
  const char32_t c = DecodeUtf8(character);
  const bool direction = c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
                         (c >= 0x2066 && c <= 0x2069);
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) || direction;
}

}  // namespace

std::string PrintableText(std::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) {
    const std::string_view head = text.substr(0, max_bytes / 2),
                           tail = text.substr(text.size() - max_bytes / 2);
    return PrintableText(head, max_bytes) + "\n…\n" + PrintableText(tail, max_bytes);
  }
  std::string out;
  while (!text.empty()) {
    const size_t bytes = Utf8CharacterBytes(text);
    const bool good = bytes != 0 && !IsControl(text.substr(0, bytes));
    out += good ? text.substr(0, bytes) : "?";
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

}  // namespace tritogen
