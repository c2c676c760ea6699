// UTF-8 checks for text from outside.
#pragma once

#include <string>
#include <string_view>

namespace tritogen {

// Well-formed as in RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool IsUtf8(std::string_view text);

// Safe to print on a terminal: malformed bytes and control characters but newline and tab become '?', and
// what is longer than max_bytes loses its middle.
std::string PrintableText(std::string_view text, size_t max_bytes);

}  // namespace tritogen
