// The part of Jinja that chat templates are written in: {{ }}, {% if/elif/else, for, set %}, {# #},
// white-space control, expressions with filters, tests, slices and the common methods of strings and maps;
// trim_blocks and lstrip_blocks are on, as transformers has them. Macros, includes, inheritance and recursion
// are refused. docs/tokenizer.md lists what there is.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tritogen::jinja {

using Value = nlohmann::ordered_json;  // discarded: undefined

struct Expression {
  enum class Kind {
    kLiteral,
    kName,
    kList,
    kMap,
    kAttribute,
    kIndex,
    kSlice,
    kCall,
    kMethod,
    kFilter,
    kTest,
    kUnary,
    kBinary,
    kChoice
  };
  Kind kind = Kind::kLiteral;
  std::string text;  // name, operator, attribute, filter, test
  Value literal;
  std::vector<Expression> children;  // operands, then arguments; slices: three, maybe empty
  std::vector<std::pair<std::string, Expression>> named;  // arguments by name
  bool absent = false;                                    // an end of a slice that is not given
};

struct Statement {
  enum class Kind { kText, kOutput, kIf, kFor, kSet };
  Kind kind = Kind::kText;
  std::string text;                    // kText: itself; kFor, kSet: the variable
  std::string text2;                   // kFor: the second variable; kSet: the attribute of a namespace
  std::vector<Expression> conditions;  // kIf: one a branch but for `else`; others: the expression
  std::vector<std::vector<Statement>> bodies;  // kIf: one a branch; kFor: one
};

// Throws FormatError with the line for what is malformed or not supported.
std::vector<Statement> Parse(std::string_view source);

// Throws FormatError for what fails while rendering (raise_exception, a wrong type), for more than 2 million
// steps and for more than 64 MB of text.
std::string Render(const std::vector<Statement>& statements, const Value& variables);

}  // namespace tritogen::jinja
