#include "text/byte_alphabet.h"

#include <array>

#include "base/utf8.h"

namespace tritogen {
namespace {

constexpr bool StandsForItself(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

constexpr int kHighest = 0x143;

struct Tables {
  std::array<char32_t, 256> character{};
  std::array<int16_t, kHighest + 1> byte{};
};

constexpr Tables kTables = [] {
  Tables tables;
  for (auto& byte : tables.byte) byte = -1;
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t character = StandsForItself(byte) ? static_cast<char32_t>(byte) : next++;
    tables.character[byte] = character;
    tables.byte[character] = static_cast<int16_t>(byte);
  }
  return tables;
}();

}  // namespace

char32_t ByteCharacter(uint8_t byte) {
  return kTables.character[byte];
}

std::string BytesToAlphabet(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) AppendUtf8(ByteCharacter(static_cast<uint8_t>(byte)), &text);
  return text;
}

std::optional<std::string> AlphabetToBytes(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const char32_t character = DecodeUtf8(text);
    if (character > kHighest || kTables.byte[character] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kTables.byte[character]));
    text.remove_prefix(Utf8CharacterBytes(text));
  }
  return bytes;
}

}  // namespace tritogen
