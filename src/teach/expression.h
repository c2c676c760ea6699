// Expressions of pointwise prims, read back: for who has to know what they say, not only to write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tritogen::teach {

// A part of Triton's language: operands {0}, {1}…, numbers, operators and calls.
struct Expression {
  enum class Kind {
    kOperand,  // {`operand`}
    kNumber,   // `number`: arithmetic on numbers alone, float("-inf"), and tl.full of one
    kBinary,   // in[0] `name` in[1]; of comparisons, too
    kNot,      // ~in[0]
    kCast,     // in[0].to(`name`)
    kCall,     // `name`(in…): "tl.where"
  };
  Kind kind = Kind::kNumber;
  std::string name;
  size_t operand = 0;
  double number = 0;
  std::vector<Expression> in;

  bool IsOperand() const { return kind == Kind::kOperand; }
  bool IsNumber(double value) const { return kind == Kind::kNumber && number == value; }
  bool IsCall(std::string_view of, size_t arguments) const {
    return kind == Kind::kCall && name == of && in.size() == arguments;
  }
  bool IsBinary(std::string_view of) const { return kind == Kind::kBinary && name == of; }
};

// Nothing for what it cannot read.
std::optional<Expression> ParseExpression(std::string_view text);

}  // namespace tritogen::teach
