#include "base/utf8.h"

#include <cstdint>

namespace tritogen {
namespace {

// Bytes of the well-formed character at the start of text, 0 when there is none.
size_t CharacterBytes(std::string_view text) {
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

bool IsControl(std::string_view character) {
  const uint8_t first = character[0];
  if (character.size() == 2)
    return first == 0xc2 && static_cast<uint8_t>(character[1]) < 0xa0;  // C1 controls
  return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = CharacterBytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string PrintableText(std::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) {
    const std::string_view head = text.substr(0, max_bytes / 2),
                           tail = text.substr(text.size() - max_bytes / 2);
    return PrintableText(head, max_bytes) + "\n…\n" + PrintableText(tail, max_bytes);
  }
  std::string out;
  while (!text.empty()) {
    const size_t bytes = CharacterBytes(text);
    const bool good = bytes != 0 && !IsControl(text.substr(0, bytes));
    out += good ? text.substr(0, bytes) : "?";
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

}  // namespace tritogen
