// UTF-8 checks for text from outside.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tritogen {

// Well-formed as in RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool IsUtf8(std::string_view text);

// Bytes of the well-formed character at the start of text, 0 when there is none.
size_t Utf8CharacterBytes(std::string_view text);

// Bytes of the malformed part at the start of text that one U+FFFD stands for: the longest beginning of some
// character, at least 1 ("maximal subpart", Unicode 3.9). REQUIRES: text is not empty and
// Utf8CharacterBytes(text) is 0.
size_t Utf8MalformedBytes(std::string_view text);

// The code point of the character at the start of text. REQUIRES: Utf8CharacterBytes(text) is not 0.
char32_t DecodeUtf8(std::string_view text);
void AppendUtf8(char32_t code_point, std::string* out);  // REQUIRES: a scalar value

// Every malformed part becomes U+FFFD.
std::string ReplaceMalformedUtf8(std::string_view text);

// Safe to print on a terminal: malformed bytes and control characters but newline and tab become '?', and
// what is longer than max_bytes loses its middle.
std::string PrintableText(std::string_view text, size_t max_bytes);

}  // namespace tritogen
