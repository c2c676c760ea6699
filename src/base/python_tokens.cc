#include "base/python_tokens.h"

#include <algorithm>
#include <cctype>

namespace tritogen {
namespace {

using Kind = PythonToken::Kind;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsNameStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80);
}
bool IsNameChar(char c) {
  return IsNameStart(c) || IsDigit(c);
}
bool IsQuote(char c) {
  return c == '"' || c == '\'';
}

bool IsStringPrefix(std::string_view name) {
  return name.size() <= 2 && name.find_first_not_of("rRbBfFuU") == std::string_view::npos;
}

// Position after the string literal whose quote stands at `i`.
size_t StringEnd(std::string_view text, size_t i) {
  const char quote = text[i];
  const bool triple = text.size() >= i + 3 && text[i + 1] == quote && text[i + 2] == quote;
  const std::string_view closing = text.substr(i, triple ? 3 : 1);
  i += closing.size();
  while (i < text.size()) {
    if (text[i] == '\\') {
      i += 2;
    } else if (text.substr(i, closing.size()) == closing) {
      return i + closing.size();
    } else if (!triple && text[i] == '\n') {
      return i;  // unterminated: Python would have refused it
    } else {
      ++i;
    }
  }
  return text.size();
}

PythonToken TokenAt(std::string_view source, size_t start) {
  const char c = source[start];
  size_t end = start + 1;
  Kind kind = Kind::kOther;
  auto skip = [&](auto accept) {
    while (end < source.size() && accept(source[end])) ++end;
  };
  if (c == '#') {
    kind = Kind::kComment;
    skip([](char next) { return next != '\n'; });
  } else if (IsQuote(c)) {
    kind = Kind::kString;
    end = StringEnd(source, start);
  } else if (IsNameStart(c)) {
    kind = Kind::kName;
    skip(IsNameChar);
    if (end < source.size() && IsQuote(source[end]) && IsStringPrefix(source.substr(start, end - start))) {
      kind = Kind::kString;
      end = StringEnd(source, end);
    }
  } else if (IsDigit(c)) {
    kind = Kind::kNumber;
    skip([](char next) { return IsNameChar(next) || next == '.'; });
  } else if (c == '\\') {
    end = std::min(start + 2, source.size());
  }
  return {kind, source.substr(start, end - start)};
}

}  // namespace

std::vector<PythonToken> PythonTokens(std::string_view source) {
  std::vector<PythonToken> tokens;
  for (size_t i = 0; i < source.size(); i += tokens.back().text.size()) tokens.push_back(TokenAt(source, i));
  return tokens;
}

}  // namespace tritogen
