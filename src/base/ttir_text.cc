#include "base/ttir_text.h"

namespace tritogen {
namespace {

bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Index behind the string literal that opens at text[at]; the end of the text when it never closes.
size_t SkipString(std::string_view text, size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

// Index behind the parenthesis that closes the one at text[at].
size_t SkipParentheses(std::string_view text, size_t at) {
  int depth = 0;
  while (at < text.size()) {
    if (text[at] == '"') {
      at = SkipString(text, at);
      continue;
    }
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    ++at;
    if (depth == 0) break;
  }
  return at;
}

// "#loc = …", "#loc12 = …", but not "#loop_annotation = …".
bool IsLocationAlias(std::string_view line) {
  if (!line.starts_with("#loc")) return false;
  size_t end = line.find_first_not_of("0123456789", 4);
  return end == std::string_view::npos || !IsWordByte(line[end]);
}

}  // namespace

std::string StripLocations(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  auto end_line = [&] {
    while (!out.empty() && out.back() == ' ') out.pop_back();
  };
  for (size_t at = 0; at < text.size();) {
    bool line_start = at == 0 || text[at - 1] == '\n';
    if (line_start && IsLocationAlias(text.substr(at))) {
      size_t newline = text.find('\n', at);
      at = newline == std::string_view::npos ? text.size() : newline + 1;
    } else if (text[at] == '"') {
      size_t next = SkipString(text, at);
      out += text.substr(at, next - at);
      at = next;
    } else if (text.substr(at).starts_with("loc(") && (at == 0 || !IsWordByte(text[at - 1]))) {
      end_line();
      at = SkipParentheses(text, at + 3);
    } else {
      if (text[at] == '\n') end_line();
      out += text[at++];
    }
  }
  return out;
}

}  // namespace tritogen
