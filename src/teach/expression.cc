#include "teach/expression.h"

#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/text.h"

namespace tritogen::teach {
namespace {

using Kind = Expression::Kind;

constexpr int kDeepest = 32;  // parentheses in each other

// Python's binary operators, the loosest first; of one level the longer ones first.
constexpr std::array<std::array<std::string_view, 6>, 6> kLevels = {
    {{"<=", ">=", "==", "!=", "<", ">"}, {"|"}, {"^"}, {"&"}, {"+", "-"}, {"//", "*", "/", "%"}}};

Expression Number(double value) {
  Expression e;
  e.number = value;
  return e;
}

Expression Joined(std::string_view op, Expression a, Expression b) {
  const bool numbers = a.kind == Kind::kNumber && b.kind == Kind::kNumber;
  if (numbers && op == "**") return Number(std::pow(a.number, b.number));
  if (numbers && op == "*") return Number(a.number * b.number);
  if (numbers && op == "/") return Number(a.number / b.number);
  if (numbers && op == "+") return Number(a.number + b.number);
  if (numbers && op == "-") return Number(a.number - b.number);
  Expression e;
  e.kind = Kind::kBinary;
  e.name = op;
  e.in = {std::move(a), std::move(b)};
  return e;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<Expression> All() {
    auto e = Level(0);
    Skip();
    return at_ == text_.size() ? e : std::nullopt;
  }

 private:
  void Skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(std::string_view what) {
    Skip();
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  std::optional<Expression> Level(size_t level) {
    if (level == kLevels.size()) return Unary();
    auto left = Level(level + 1);
    while (left) {
      std::string_view op;
      for (std::string_view each : kLevels[level]) {
        Skip();
        // "<<" and "**" are none of "<" and "*".
        const bool twice = each.size() == 1 && text_.substr(at_).starts_with(each) &&
                           text_.substr(at_ + 1).starts_with(each);
        if (!each.empty() && !twice && op.empty() && Take(each)) op = each;
      }
      if (op.empty()) return left;
      auto right = Level(level + 1);
      if (!right) return std::nullopt;
      left = Joined(op, *std::move(left), *std::move(right));
    }
    return left;
  }

  std::optional<Expression> Unary() {
    if (Take("-")) {
      auto of = Unary();
      return of ? std::optional(Joined("*", Number(-1), *std::move(of))) : std::nullopt;
    }
    if (Take("~")) {
      auto of = Unary();
      if (!of) return std::nullopt;
      Expression e;
      e.kind = Kind::kNot;
      e.in = {*std::move(of)};
      return e;
    }
    auto base = Postfix();
    if (!base || !Take("**")) return base;
    auto exponent = Unary();
    return exponent ? std::optional(Joined("**", *std::move(base), *std::move(exponent))) : std::nullopt;
  }

  std::optional<Expression> Postfix() {
    auto e = Atom();
    while (e && Take(".to(")) {
      Expression cast;
      cast.kind = Kind::kCast;
      cast.name = Word();
      cast.in = {*std::move(e)};
      if (cast.name.empty() || !Take(")")) return std::nullopt;
      e = std::move(cast);
    }
    return e;
  }

  std::optional<Expression> Atom() {
    Skip();
    if (at_ == text_.size() || ++depth_ > kDeepest) return std::nullopt;
    std::optional<Expression> e;
    const auto first = static_cast<unsigned char>(text_[at_]);
    if (Take("(")) {
      e = Level(0);
      if (!Take(")")) e.reset();
    } else if (Take("{")) {
      const std::string digits = Word();
      const bool number = digits.find_first_not_of("0123456789") == std::string::npos;
      if (number && !digits.empty() && digits.size() < 4 && Take("}")) {
        e.emplace();
        e->kind = Kind::kOperand;
        e->operand = static_cast<size_t>(std::atoi(digits.c_str()));
      }
    } else if (std::isdigit(first) != 0) {
      e = Digits();
    } else if (std::isalpha(first) != 0) {
      e = Call();
    }
    --depth_;
    return e;
  }

  std::optional<Expression> Digits() {
    const std::string rest(text_.substr(at_));
    char* end = nullptr;
    const double value = std::strtod(rest.c_str(), &end);
    at_ += static_cast<size_t>(end - rest.c_str());
    return Number(value);
  }

  // Letters, digits and dots.
  std::string Word() {
    const size_t begin = at_;
    while (at_ < text_.size() && (IsWordByte(text_[at_]) || text_[at_] == '.')) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::optional<Expression> Call() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (Take("float(\"-inf\")")) return Number(-kInfinity);
    if (Take("float(\"inf\")")) return Number(kInfinity);
    Expression e;
    e.kind = Kind::kCall;
    e.name = Word();
    if (Take("([], ")) {  // tl.full([], number, dtype)
      auto value = Level(0);
      if (e.name != "tl.full" || !Take(",")) return std::nullopt;
      Skip();
      Word();
      return Take(")") ? value : std::nullopt;
    }
    if (!Take("(")) return std::nullopt;
    do {
      auto argument = Level(0);
      if (!argument) return std::nullopt;
      e.in.push_back(*std::move(argument));
    } while (Take(","));
    return Take(")") ? std::optional(std::move(e)) : std::nullopt;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<Expression> ParseExpression(std::string_view text) {
  return Parser(text).All();
}

}  // namespace tritogen::teach
