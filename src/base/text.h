// Small operations on text.
#pragma once

#include <string>
#include <string_view>

namespace tritogen {

inline constexpr std::string_view kBlank = " \t\r\n";

// Without what stands at its ends and is one of `blank`.
std::string_view Trimmed(std::string_view text, std::string_view blank = kBlank);

// The first line, without its line break, which is cut off from `text`.
std::string_view TakeLine(std::string_view* text);

// A letter of ASCII, a digit or an underscore, whatever the locale says.
constexpr bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Some of these, and no digit first: what is a name in Python and in C++.
bool IsIdentifier(std::string_view text);

// "weight" of "layers.0.weight"; all of a text without a dot.
std::string_view LastPart(std::string_view name);

// REQUIRES: `from` is not empty.
std::string ReplaceAll(std::string text, std::string_view from, std::string_view to);

}  // namespace tritogen
