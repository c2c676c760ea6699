// Chat templates in pieces: text and tags, and the tokens of a tag. For jinja_parse.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tritogen::jinja {

struct Token {
  enum class Kind { kEnd, kName, kString, kNumber, kOperator } kind = Kind::kEnd;
  std::string text;
};

// What stands between tags, and the tags.
struct Piece {
  char kind;  // 't' text, '{' output, '%' statement
  std::string text;
  int line;
};

[[noreturn]] void FailAt(int line, const std::string& what);  // FormatError

// White space is trimmed as the tags ask, and as trim_blocks and lstrip_blocks do.
std::vector<Piece> Cut(std::string_view source);

// Of one tag's text; the last one is kEnd.
std::vector<Token> Tokens(std::string_view text, int line);

}  // namespace tritogen::jinja
