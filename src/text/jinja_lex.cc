#include "text/jinja_lex.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace tritogen::jinja {
namespace {

constexpr std::string_view kSpaces = " \t\r\n\v\f";

// Where a tag that begins at `at` ends, strings skipped.
size_t TagEnd(std::string_view source, size_t at, std::string_view close, int line) {
  char quote = 0;
  int braces = 0;
  for (size_t i = at; i < source.size(); ++i) {
    const char c = source[i];
    if (quote) {
      if (c == '\\')
        ++i;
      else if (c == quote)
        quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (braces == 0 && source.substr(i).starts_with(close)) {
      return i;
    } else if (c == '{' || c == '}') {
      braces += c == '{' ? 1 : -1;  // those of a map
    }
  }
  FailAt(line, fmt::format("a tag without '{}'", close));
}

std::string Unescape(std::string_view text, int line) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char c = ++i < text.size() ? text[i] : '\0';
    const std::string_view from = "ntr\\'\"", to = "\n\t\r\\'\"";
    const size_t at = from.find(c);
    if (c == '\0' || at == from.npos) FailAt(line, fmt::format("the escape \\{} is not supported", c));
    out += to[at];
  }
  return out;
}

}  // namespace

void FailAt(int line, const std::string& what) {
  throw FormatError(fmt::format("chat template, line {}: {}", line, what));
}

std::vector<Piece> Cut(std::string_view source) {
  if (source.ends_with('\n')) source.remove_suffix(1);
  std::vector<Piece> pieces;
  bool strip_next = false, newline_next = false;  // what the tag before wants of the text behind it
  bool at_beginning = true;
  int line = 1;
  while (!source.empty()) {
    size_t open = 0;
    do {
      open = source.find('{', open);
    } while (open != source.npos && open + 1 < source.size() && !strchr("{%#", source[open + 1]) && ++open);
    if (open != source.npos && open + 1 >= source.size()) open = source.npos;
    std::string_view text = source.substr(0, open);
    const int text_line = line;
    line += static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    const std::string_view whole = text;
    if (strip_next) text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
    if (!strip_next && newline_next && text.starts_with('\n')) text.remove_prefix(1);
    const std::string_view taken = whole.substr(0, whole.size() - text.size());
    const bool line_begins = std::exchange(at_beginning, false) || taken.ends_with('\n');
    if (open == source.npos) {
      pieces.push_back({'t', std::string(text), text_line});
      break;
    }
    const char kind = source[open + 1];
    const bool strip_before = source.substr(open + 2).starts_with('-'),
               keep = source.substr(open + 2).starts_with('+');
    if (strip_before) {
      text = text.substr(0, text.find_last_not_of(kSpaces) + 1);
    } else if (kind != '{' && !keep) {  // lstrip_blocks: blanks between the line's start and a block
      const size_t last = text.find_last_not_of(" \t");
      const bool at_start = last == text.npos ? line_begins : text[last] == '\n';
      if (at_start) text = text.substr(0, last + 1);
    }
    pieces.push_back({'t', std::string(text), text_line});
    const size_t begin = open + 2 + (strip_before || keep ? 1 : 0);
    const std::string_view close = kind == '{' ? "}}" : kind == '%' ? "%}" : "#}";
    const size_t end = kind == '#' ? source.find(close, begin) : TagEnd(source, begin, close, line);
    if (end == source.npos) FailAt(line, "a comment without '#}'");
    std::string_view body = source.substr(begin, end - begin);
    strip_next = body.ends_with('-');
    if (strip_next) body.remove_suffix(1);
    newline_next = kind != '{';
    if (kind != '#') pieces.push_back({kind, std::string(body), line});
    const std::string_view tag = source.substr(open, end + 2 - open);
    line += static_cast<int>(std::count(tag.begin(), tag.end(), '\n'));
    source.remove_prefix(end + 2);
  }
  return pieces;
}

std::vector<Token> Tokens(std::string_view text, int line) {
  static constexpr std::string_view kOperators[] = {"==", "!=", "<=", ">=", "//", "**", "<", ">", "+",
                                                    "-",  "*",  "/",  "%",  "~",  "|",  ".", ",", ":",
                                                    "(",  ")",  "[",  "]",  "{",  "}",  "="};
  std::vector<Token> tokens;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
    if (text.empty()) break;
    const auto is_name = [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    const char c = text[0];
    size_t size = 1;
    if (c == '\'' || c == '"') {
      while (size < text.size() && text[size] != c) size += text[size] == '\\' ? 2 : 1;
      if (size >= text.size()) FailAt(line, "a string without an end");
      tokens.push_back({Token::Kind::kString, Unescape(text.substr(1, size - 1), line)});
      ++size;
    } else if (is_name(c)) {
      const bool number = isdigit(static_cast<unsigned char>(c));
      while (size < text.size() &&
             (is_name(text[size]) || (number && text[size] == '.' && size + 1 < text.size() &&
                                      isdigit(static_cast<unsigned char>(text[size + 1])))))
        ++size;
      tokens.push_back(
          {number ? Token::Kind::kNumber : Token::Kind::kName, std::string(text.substr(0, size))});
    } else {
      const auto found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                      [&](std::string_view op) { return text.starts_with(op); });
      if (found == std::end(kOperators))
        FailAt(line, fmt::format("'{}' is not understood", PrintableText(text, 20)));
      size = found->size();
      tokens.push_back({Token::Kind::kOperator, std::string(*found)});
    }
    text.remove_prefix(size);
  }
  tokens.push_back({});
  return tokens;
}

}  // namespace tritogen::jinja
