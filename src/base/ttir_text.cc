#include "base/ttir_text.h"

#include <algorithm>

namespace tritogen {
namespace {

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

// Index behind the line "#loc = loc(…)" or "#loc12 = loc(…)" that starts at `at`; npos where none does.
size_t SkipLocationAlias(std::string_view text, size_t at) {
  const std::string_view line = text.substr(at, text.find('\n', at) - at);
  constexpr std::string_view kStart = "#loc", kValue = " = loc";
  if (!line.starts_with(kStart)) return std::string_view::npos;
  const size_t end = line.find_first_not_of("0123456789", kStart.size());
  if (end == std::string_view::npos || !line.substr(end).starts_with(kValue)) return std::string_view::npos;
  const size_t open = end + kValue.size();
  if (open == line.size() || line[open] != '(') return std::string_view::npos;
  const size_t behind = SkipParentheses(line, open);
  if (line.find_first_not_of(" \r", behind) != std::string_view::npos) return std::string_view::npos;
  return std::min(at + line.size() + 1, text.size());
}

// MLIR prints none, but a hostile text may hold some, and who reads it to run it passes over them.
std::string WithoutComments(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    const size_t next = text[at] == '"' ? SkipString(text, at) : at + 1;
    out += text.substr(at, next - at);
    at = next;
  }
  return out;
}

bool IsBlank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

}  // namespace

std::string StripLocations(std::string_view whole) {
  const std::string text = WithoutComments(whole);
  const std::string_view view = text;
  std::string out;
  out.reserve(text.size());
  auto end_line = [&] {
    while (!out.empty() && out.back() == ' ') out.pop_back();
  };
  for (size_t at = 0; at < view.size();) {
    const bool line_start = at == 0 || view[at - 1] == '\n';
    const size_t behind_alias = line_start ? SkipLocationAlias(view, at) : view.npos;
    if (behind_alias != view.npos) {
      at = behind_alias;
    } else if (line_start && view[at] == '#') {  // other aliases are lines of their own to who reads them
      const size_t end = std::min(view.find('\n', at), view.size());
      out += view.substr(at, end - at);
      at = end;
    } else if (view[at] == '"') {
      const size_t next = SkipString(view, at);
      out += view.substr(at, next - at);
      at = next;
    } else if (view.substr(at).starts_with("loc(") && (at == 0 || IsBlank(view[at - 1]))) {
      end_line();  // a function may be named loc, too: @loc(…)
      at = SkipParentheses(view, at + 3);
    } else {
      if (view[at] == '\n') end_line();
      out += view[at++];
    }
  }
  return out;
}

}  // namespace tritogen
