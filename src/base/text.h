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

// REQUIRES: `from` is not empty.
std::string ReplaceAll(std::string text, std::string_view from, std::string_view to);

}  // namespace tritogen
