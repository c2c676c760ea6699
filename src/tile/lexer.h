// Tokens of TTIR text. Views point into the text, which must outlive the lexer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tritogen::tile {

enum class TokenKind : uint8_t {
  kEnd,
  kWord,     // tt.load, f32, x: letters, digits, '_', '.', '$'
  kValue,    // %name or %name#1; text is what follows '%'
  kSymbol,   // @name or @"name"; text is the name, escapes kept
  kLabel,    // ^bb1; text is what follows '^'
  kAlias,    // #loc12; text is what follows '#'
  kBang,     // !tt.ptr; text is what follows '!'
  kInteger,  // digits or 0x…, no sign
  kFloat,    // 1.5, 1.5e+00, no sign
  kString,   // text between the quotes, escapes kept
  kPunct,    // one character
  kArrow,    // ->
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  int line = 1;
  bool Is(char c) const { return kind == TokenKind::kPunct && text[0] == c; }
  bool Is(std::string_view word) const { return kind == TokenKind::kWord && text == word; }
};

// One token of look-ahead: token() is the next unread one. Every member throws TtirError for text that is no
// token.
class Lexer {
 public:
  explicit Lexer(std::string_view text, int first_line = 1);

  const Token& token() const { return token_; }
  int previous_line() const { return previous_line_; }  // of the token before
  void Advance();

  // At an integer such as the `16` of `16x32xf32`: appends 16, 32 and leaves `f32` as the next token.
  void ReadDimensions(std::vector<int64_t>& dimensions);

  // At an opening bracket: skips to behind its partner, minding strings; returns what stood between.
  std::string_view SkipBrackets();

  // Skips the rest of the current token's line.
  void SkipLine();

 private:
  void SkipBlanks();
  bool Finish(TokenKind kind, size_t skip_front, size_t end);
  bool LexSigil(char c);
  void LexString(TokenKind kind, size_t sigil);
  void LexNumber();
  void LexPunct();
  [[noreturn]] void Fail(const std::string& message) const;

  std::string_view text_;
  size_t start_ = 0;  // of token_
  size_t next_ = 0;   // first character behind token_
  int line_;          // at next_
  int previous_line_ = 1;
  Token token_;
};

// The characters a string literal stands for: \n, \t, \\, \" and \XX (two hex digits).
std::string Unescape(std::string_view raw);

}  // namespace tritogen::tile
