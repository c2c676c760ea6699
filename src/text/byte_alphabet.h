// The byte alphabet of GPT-2: a printable character for each of the 256 bytes, so that any bytes can be
// written as text in tokenizer.json. Printable bytes of Latin-1 stand for themselves, the others are U+0100
// and up, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tritogen {

char32_t ByteCharacter(uint8_t byte);  // U+0021 … U+0143

std::string BytesToAlphabet(std::string_view bytes);
// The inverse; nothing when some character of `text` stands for no byte. REQUIRES: text is UTF-8.
std::optional<std::string> AlphabetToBytes(std::string_view text);

}  // namespace tritogen
