#include <optional>

#include "base/error.h"
#include "base/utf8.h"
#include "text/jinja.h"
#include "text/jinja_lex.h"

namespace tritogen::jinja {
namespace {

using Kind = Expression::Kind;

constexpr int kMaxDepth = 100;
constexpr size_t kMaxTokens = 1000;

// Expressions by recursive descent, loosest first: choice, or, and, not, comparison, sum, ~, product, sign,
// postfix. (In Jinja ~ binds closer than +: 'a' + 1 ~ 'b' is 'a1b'.)
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, int line) : tokens_(Tokens(text, line)), line_(line) {
    // a + b + c … nests as deep as it is long
    if (tokens_.size() > kMaxTokens) FailAt(line, "an expression too long");
  }

  bool AtEnd() const { return tokens_[at_].kind == Token::Kind::kEnd; }
  bool Is(std::string_view text) const {
    return tokens_[at_].text == text &&
           (tokens_[at_].kind == Token::Kind::kName || tokens_[at_].kind == Token::Kind::kOperator);
  }
  bool Take(std::string_view text) { return Is(text) && ++at_; }
  void Expect(std::string_view text) {
    if (!Take(text))
      FailAt(line_, fmt::format("'{}' expected before '{}'", text, PrintableText(tokens_[at_].text, 40)));
  }
  void ExpectEnd() {
    if (!AtEnd())
      FailAt(line_, fmt::format("'{}' is not expected here", PrintableText(tokens_[at_].text, 40)));
  }
  std::string Name() {
    if (tokens_[at_].kind != Token::Kind::kName) FailAt(line_, "a name is expected");
    return tokens_[at_++].text;
  }

  Expression Choice() {
    const Nested nested(this);
    Expression value = Or();
    while (Take("if")) {
      Expression condition = Or();
      Expression otherwise = Literal(Value(Value::value_t::discarded));
      if (Take("else")) otherwise = Choice();
      value = Make(Kind::kChoice, "", {std::move(condition), std::move(value), std::move(otherwise)});
    }
    return value;
  }

  Expression Or() {
    Expression left = And();
    while (Take("or")) left = Make(Kind::kBinary, "or", {std::move(left), And()});
    return left;
  }

 private:
  struct Nested {
    explicit Nested(ExpressionParser* parser) : parser(parser) {
      if (++parser->depth_ > kMaxDepth) FailAt(parser->line_, "an expression nested too deeply");
    }
    ~Nested() { --parser->depth_; }
    ExpressionParser* parser;
  };

  static Expression Make(Kind kind, std::string text, std::vector<Expression> children) {
    Expression made;
    made.kind = kind;
    made.text = std::move(text);
    made.children = std::move(children);
    return made;
  }
  static Expression Literal(Value value) {
    Expression made;
    made.literal = std::move(value);
    return made;
  }

  Expression And() {
    Expression left = Not();
    while (Take("and")) left = Make(Kind::kBinary, "and", {std::move(left), Not()});
    return left;
  }

  Expression Not() {
    const Nested nested(this);
    if (Take("not")) return Make(Kind::kUnary, "not", {Not()});
    Expression left = Sum();
    std::optional<Expression> all;
    for (;;) {
      const std::optional<std::string> op = TakeComparison();
      if (!op) return all ? *std::move(all) : std::move(left);
      Expression right = Sum();
      Expression one = Make(Kind::kBinary, *op == "not in" ? "in" : *op, {std::move(left), right});
      if (*op == "not in") one = Make(Kind::kUnary, "not", {std::move(one)});
      // a < b < c is a < b and b < c
      all = all ? Make(Kind::kBinary, "and", {*std::move(all), std::move(one)}) : std::move(one);
      left = std::move(right);
    }
  }

  std::optional<std::string> TakeComparison() {
    if (Take("not")) {
      Expect("in");
      return "not in";
    }
    for (const char* op : {"==", "!=", "<=", ">=", "<", ">", "in"}) {
      if (Take(op)) return op;
    }
    return std::nullopt;
  }

  Expression Sum() {
    Expression left = Concatenation();
    for (;;) {
      if (Take("+"))
        left = Make(Kind::kBinary, "+", {std::move(left), Concatenation()});
      else if (Take("-"))
        left = Make(Kind::kBinary, "-", {std::move(left), Concatenation()});
      else
        return left;
    }
  }

  Expression Concatenation() {
    Expression left = Product();
    while (Take("~")) left = Make(Kind::kBinary, "~", {std::move(left), Product()});
    return left;
  }

  Expression Product() {
    Expression left = Sign();
    for (;;) {
      bool found = false;
      for (const std::string op : {"*", "//", "/", "%"}) {
        if (!found && (found = Take(op))) left = Make(Kind::kBinary, op, {std::move(left), Sign()});
      }
      if (!found) return left;
    }
  }

  // Filters and tests take the sign along: -x | f is (-x) | f.
  Expression Sign(bool filters = true) {
    const Nested nested(this);
    Expression value = Take("-") ? Make(Kind::kUnary, "-", {Sign(/*filters=*/false)}) : Postfix(Primary());
    while (filters) {
      if (Take("|")) {
        value = Make(Kind::kFilter, Name(), {std::move(value)});
        if (Take("(")) Arguments(&value);
        value = Postfix(std::move(value));
      } else if (Take("is")) {
        const bool negated = Take("not");
        value = Make(Kind::kTest, Name(), {std::move(value)});
        if (negated) value = Make(Kind::kUnary, "not", {std::move(value)});
      } else {
        break;
      }
    }
    return value;
  }

  Expression Postfix(Expression value) {
    for (;;) {
      if (Take(".")) {
        value = Make(Kind::kAttribute, Name(), {std::move(value)});
        if (Take("(")) {
          value.kind = Kind::kMethod;
          Arguments(&value);
        }
      } else if (Take("[")) {
        value = Subscript(std::move(value));
      } else if (Is("(") && value.kind == Kind::kName) {
        Take("(");
        value = Make(Kind::kCall, value.text, {});
        Arguments(&value);
      } else {
        return value;
      }
    }
  }

  Expression Subscript(Expression value) {
    std::vector<Expression> parts = {std::move(value)};
    bool slice = false;
    while (!Is("]")) {
      Expression part;
      part.absent = Is(":");
      if (!part.absent) part = Choice();
      parts.push_back(std::move(part));
      if (!Take(":")) break;
      slice = true;
    }
    Expect("]");
    if (!slice && parts.size() == 2) return Make(Kind::kIndex, "", std::move(parts));
    Expression absent;
    absent.absent = true;
    if (parts.size() > 4 || parts.size() == 1) FailAt(line_, "a malformed subscript");
    parts.resize(4, absent);
    return Make(Kind::kSlice, "", std::move(parts));
  }

  void Arguments(Expression* call) {
    while (!Take(")")) {
      if (tokens_[at_].kind == Token::Kind::kName && tokens_[at_ + 1].text == "=") {
        std::string name = Name();
        Take("=");
        call->named.emplace_back(std::move(name), Choice());
      } else {
        call->children.push_back(Choice());
      }
      if (!Is(")")) Expect(",");
    }
  }

  Expression Primary() {
    const Token token = tokens_[at_];
    if (token.kind == Token::Kind::kEnd) FailAt(line_, "an expression ends too early");
    ++at_;
    if (token.kind == Token::Kind::kString) return Literal(token.text);
    if (token.kind == Token::Kind::kNumber) {
      const Value number = Value::parse(token.text, nullptr, false);
      if (!number.is_number()) FailAt(line_, fmt::format("'{}' is no number", token.text));
      return Literal(number);
    }
    if (token.kind == Token::Kind::kName) return NameOrConstant(token.text);
    if (token.text == "(") {
      Expression value = Choice();
      if (Is(",")) FailAt(line_, "tuples are not supported");
      Expect(")");
      return value;
    }
    if (token.text == "[") {
      Expression list = Make(Kind::kList, "", {});
      while (!Take("]")) {
        list.children.push_back(Choice());
        if (!Is("]")) Expect(",");
      }
      return list;
    }
    if (token.text == "{") {
      Expression map = Make(Kind::kMap, "", {});
      while (!Take("}")) {
        map.children.push_back(Choice());
        Expect(":");
        map.children.push_back(Choice());
        if (!Is("}")) Expect(",");
      }
      return map;
    }
    FailAt(line_, fmt::format("'{}' is not expected here", token.text));
  }

  static Expression NameOrConstant(const std::string& name) {
    if (name == "true" || name == "True") return Literal(true);
    if (name == "false" || name == "False") return Literal(false);
    if (name == "none" || name == "None") return Literal(nullptr);
    return Make(Kind::kName, name, {});
  }

  std::vector<Token> tokens_;
  int line_;
  size_t at_ = 0;
  int depth_ = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view source) : pieces_(Cut(source)) {}

  std::vector<Statement> Run() {
    std::vector<Statement> statements = Block();
    if (at_ < pieces_.size())
      FailAt(pieces_[at_].line, fmt::format("'{}' closes nothing", Word(pieces_[at_])));
    return statements;
  }

 private:
  static std::string Word(const Piece& piece) {
    const auto tokens = Tokens(piece.text, piece.line);
    return tokens[0].text;
  }

  // Statements up to a tag that belongs to whoever asked: elif, else, end….
  std::vector<Statement> Block() {
    if (++depth_ > kMaxDepth) FailAt(pieces_[at_].line, "blocks nested too deeply");
    std::vector<Statement> out;
    for (; at_ < pieces_.size(); ++at_) {
      const Piece& piece = pieces_[at_];
      if (piece.kind == 't') {
        if (!piece.text.empty()) out.push_back({Statement::Kind::kText, piece.text, "", {}, {}});
      } else if (piece.kind == '{') {
        ExpressionParser parser(piece.text, piece.line);
        out.push_back({Statement::Kind::kOutput, "", "", {parser.Choice()}, {}});
        parser.ExpectEnd();
      } else {
        const std::string word = Word(piece);
        if (word == "elif" || word == "else" || word.starts_with("end")) {
          if (word == "endgeneration") continue;
          break;
        }
        if (word == "generation") continue;  // marks the assistant's text for training; text is the same
        out.push_back(Tag(piece, word));
      }
    }
    --depth_;
    return out;
  }

  Statement Tag(const Piece& piece, const std::string& word) {
    ExpressionParser parser(piece.text, piece.line);
    parser.Name();
    if (word == "if") return If(piece, std::move(parser));
    if (word == "for") return For(piece, std::move(parser));
    if (word == "set") {
      Statement set{Statement::Kind::kSet, parser.Name(), "", {}, {}};
      if (parser.Take(".")) set.text2 = parser.Name();
      parser.Expect("=");
      set.conditions.push_back(parser.Choice());
      parser.ExpectEnd();
      return set;
    }
    FailAt(piece.line, fmt::format("'{}' blocks are not supported", PrintableText(word, 40)));
  }

  // At the tag behind a block.
  const Piece& Closing(const Piece& open) {
    if (at_ == pieces_.size()) FailAt(open.line, fmt::format("'{}' is never closed", Word(open)));
    return pieces_[at_];
  }

  Statement If(const Piece& open, ExpressionParser parser) {
    Statement statement{Statement::Kind::kIf, "", "", {}, {}};
    statement.conditions.push_back(parser.Choice());
    parser.ExpectEnd();
    bool otherwise = false;
    for (;;) {
      ++at_;
      statement.bodies.push_back(Block());
      const Piece& tag = Closing(open);
      const std::string word = Word(tag);
      if (word == "endif") return statement;
      if (otherwise || (word != "elif" && word != "else"))
        FailAt(tag.line, fmt::format("'{}' within an if", word));
      otherwise = word == "else";
      if (otherwise) continue;
      ExpressionParser condition(tag.text, tag.line);
      condition.Name();
      statement.conditions.push_back(condition.Choice());
      condition.ExpectEnd();
    }
  }

  Statement For(const Piece& open, ExpressionParser parser) {
    Statement statement{Statement::Kind::kFor, parser.Name(), "", {}, {}};
    if (parser.Take(",")) statement.text2 = parser.Name();
    parser.Expect("in");
    statement.conditions.push_back(parser.Or());
    if (parser.Take("if")) statement.conditions.push_back(parser.Or());
    parser.ExpectEnd();
    ++at_;
    statement.bodies.push_back(Block());
    const Piece& tag = Closing(open);
    if (Word(tag) != "endfor") FailAt(tag.line, fmt::format("'{}' within a for", Word(tag)));
    return statement;
  }

  std::vector<Piece> pieces_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::vector<Statement> Parse(std::string_view source) {
  if (source.size() > (size_t{1} << 20) || !IsUtf8(source))
    throw FormatError("a chat template over 1 MB, or not UTF-8");
  return Parser(source).Run();
}

}  // namespace tritogen::jinja
