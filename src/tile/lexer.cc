#include "tile/lexer.h"

#include <fmt/format.h>

#include "tile/tile.h"

namespace tritogen::tile {
namespace {

constexpr int64_t kMaxDimension = int64_t{1} << 20;
constexpr size_t kMaxDimensions = 20;  // tl.sort views its 2^n elements as a cube of n dimensions

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool IsWordChar(char c) {
  return IsLetter(c) || IsDigit(c) || c == '.' || c == '$';
}
bool IsNameChar(char c) {
  return IsWordChar(c) || c == '-';
}

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

template <typename Predicate>
size_t FindEnd(std::string_view text, size_t from, Predicate belongs) {
  while (from < text.size() && belongs(text[from])) ++from;
  return from;
}

}  // namespace

Lexer::Lexer(std::string_view text, int first_line) : text_(text), line_(first_line) {
  Advance();
}

void Lexer::Fail(const std::string& message) const {
  throw TtirError(line_, message);
}

void Lexer::SkipBlanks() {
  while (next_ < text_.size()) {
    char c = text_[next_];
    if (c == '\n') {
      ++line_;
    } else if (c == '/' && text_.substr(next_, 2) == "//") {
      next_ = std::min(text_.find('\n', next_), text_.size());
      continue;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
    ++next_;
  }
}

bool Lexer::Finish(TokenKind kind, size_t skip_front, size_t end) {
  token_ = {kind, text_.substr(start_ + skip_front, end - start_ - skip_front), line_};
  next_ = end;
  return true;
}

void Lexer::Advance() {
  previous_line_ = token_.line;
  SkipBlanks();
  start_ = next_;
  if (next_ == text_.size()) {
    token_ = {TokenKind::kEnd, {}, line_};
    return;
  }
  char c = text_[next_];
  if (IsLetter(c)) {
    Finish(TokenKind::kWord, 0, FindEnd(text_, next_, IsWordChar));
  } else if (IsDigit(c)) {
    LexNumber();
  } else if (c == '"') {
    LexString(TokenKind::kString, 0);
  } else if (!LexSigil(c)) {
    LexPunct();
  }
}

// Names that start with a sign of their own. False: not one of them.
bool Lexer::LexSigil(char c) {
  TokenKind kind;
  switch (c) {
    case '%':
      kind = TokenKind::kValue;
      break;
    case '@':
      kind = TokenKind::kSymbol;
      break;
    case '^':
      kind = TokenKind::kLabel;
      break;
    case '#':
      kind = TokenKind::kAlias;
      break;
    case '!':
      kind = TokenKind::kBang;
      break;
    default:
      return false;
  }
  if (c == '@' && start_ + 1 < text_.size() && text_[start_ + 1] == '"') {
    LexString(kind, 1);
    return true;
  }
  size_t end = FindEnd(text_, start_ + 1, c == '!' ? IsWordChar : IsNameChar);
  if (end == start_ + 1) Fail(fmt::format("a name must follow '{}'", c));
  if (c == '%' && end + 1 < text_.size() && text_[end] == '#' && IsDigit(text_[end + 1])) {
    end = FindEnd(text_, end + 1, IsDigit);
  }
  return Finish(kind, 1, end);
}

void Lexer::LexString(TokenKind kind, size_t sigil) {
  size_t first = start_ + sigil + 1;
  for (size_t i = first; i < text_.size() && text_[i] != '\n'; ++i) {
    if (text_[i] == '\\') {
      ++i;
      if (i < text_.size() && text_[i] == '\n') break;
    } else if (text_[i] == '"') {
      token_ = {kind, text_.substr(first, i - first), line_};
      next_ = i + 1;
      return;
    }
  }
  Fail("a string is not closed on its line");
}

void Lexer::LexNumber() {
  if (text_[start_] == '0' && start_ + 2 < text_.size() && text_[start_ + 1] == 'x' &&
      HexDigit(text_[start_ + 2]) >= 0) {
    Finish(TokenKind::kInteger, 0, FindEnd(text_, start_ + 2, [](char c) { return HexDigit(c) >= 0; }));
    return;
  }
  size_t end = FindEnd(text_, start_, IsDigit);
  if (end == text_.size() || text_[end] != '.') {
    Finish(TokenKind::kInteger, 0, end);
    return;
  }
  end = FindEnd(text_, end + 1, IsDigit);
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    size_t exponent = end + 1;
    if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
    if (exponent < text_.size() && IsDigit(text_[exponent])) end = FindEnd(text_, exponent, IsDigit);
  }
  Finish(TokenKind::kFloat, 0, end);
}

void Lexer::LexPunct() {
  constexpr std::string_view kPuncts = "()[]{}<>,:=*-+?|/";
  if (text_.substr(start_, 2) == "->") {
    Finish(TokenKind::kArrow, 0, start_ + 2);
  } else if (kPuncts.find(text_[start_]) != std::string_view::npos) {
    Finish(TokenKind::kPunct, 0, start_ + 1);
  } else {
    Fail(fmt::format("unexpected character 0x{:02x}", static_cast<unsigned char>(text_[start_])));
  }
}

void Lexer::ReadDimensions(std::vector<int64_t>& dimensions) {
  size_t at = start_;
  while (at < text_.size() && IsDigit(text_[at])) {
    int64_t value = 0;
    for (; at < text_.size() && IsDigit(text_[at]); ++at) {
      value = value * 10 + (text_[at] - '0');
      if (value > kMaxDimension) Fail("a dimension is larger than 2^20");
    }
    if (at == text_.size() || text_[at] != 'x') Fail("'x' must follow a dimension");
    if (dimensions.size() == kMaxDimensions)
      Fail(fmt::format("a shape has more than {} dimensions", kMaxDimensions));
    dimensions.push_back(value);
    ++at;
  }
  next_ = at;
  Advance();
}

std::string_view Lexer::SkipBrackets() {
  char open = token_.text[0];
  char close = open == '(' ? ')' : open == '<' ? '>' : open == '[' ? ']' : '}';
  size_t first = next_;
  for (int depth = 1; depth > 0;) {
    Advance();
    if (token_.kind == TokenKind::kEnd) Fail(fmt::format("'{}' is never closed", open));
    if (token_.Is(open)) ++depth;
    if (token_.Is(close)) --depth;
  }
  std::string_view inside = text_.substr(first, start_ - first);
  Advance();
  return inside;
}

void Lexer::SkipLine() {
  next_ = std::min(text_.find('\n', start_), text_.size());
  Advance();
}

std::string Unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out += raw[i];
      continue;
    }
    char c = raw[++i];
    int low = i + 1 < raw.size() ? HexDigit(raw[i + 1]) : -1;
    if (HexDigit(c) >= 0 && low >= 0) {
      out += static_cast<char>(HexDigit(c) * 16 + low);
      ++i;
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
  }
  return out;
}

}  // namespace tritogen::tile
