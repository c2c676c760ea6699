#include <charconv>

#include "tile/literal.h"
#include "tile/parser.h"

namespace tritogen::tile {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 20;

std::optional<Elem> ElemOf(std::string_view name) {
  static constexpr std::pair<std::string_view, Elem> kNames[] = {
      {"f32", Elem::kF32}, {"i32", Elem::kI32},         {"i1", Elem::kI1},         {"i64", Elem::kI64},
      {"f16", Elem::kF16}, {"bf16", Elem::kBF16},       {"f64", Elem::kF64},       {"i8", Elem::kI8},
      {"i16", Elem::kI16}, {"f8E4M3FN", Elem::kF8E4M3}, {"f8E5M2", Elem::kF8E5M2}, {"index", Elem::kI64},
  };
  for (const auto& [text, elem] : kNames) {
    if (text == name) return elem;
  }
  return std::nullopt;
}

}  // namespace

int64_t Parser::TakeInteger() {
  bool negative = Accept('-');
  if (!At(TokenKind::kInteger)) FailUnexpected("an integer");
  std::optional<uint64_t> magnitude = ParseMagnitude(token().text);
  if (!magnitude || *magnitude > uint64_t{1} << 63) FailHere("an integer does not fit in 64 bits");
  lexer_.Advance();
  return static_cast<int64_t>(negative ? 0 - *magnitude : *magnitude);
}

// ---------------------------------------------------------------- types

Type Parser::ParseType() {
  if (At(TokenKind::kBang)) return ParseBangType();
  if (!token().Is("tensor")) return {.elem = ParseScalar()};
  Type type = ParseTensor();
  if (type.desc_sign != 0) Fail("only the integers of a descriptor have a sign");
  return type;
}

Type Parser::ParseBangType() {
  std::string_view name = token().text;
  if (name != "tt.ptr" && name != "tt.tensordesc") FailUnsupported(fmt::format("unknown type '!{}'", name));
  lexer_.Advance();
  return name == "tt.ptr" ? ParsePointerBody() : ParseDescriptorBody();
}

Type Parser::ParsePointerBody() {
  Expect('<');
  if (token().Is("tensor")) FailUnsupported("block pointers are not supported in final TTIR");
  if (At(TokenKind::kBang)) FailUnsupported("pointers to pointers are not supported");
  Type type{.elem = Elem::kPtr, .pointee = ParseScalar()};
  if (Accept(',') && TakeInteger() != 1) FailUnsupported("only pointers to global memory are supported");
  Expect('>');
  return type;
}

Elem Parser::ParseScalar() {
  if (!At(TokenKind::kWord)) FailUnexpected("a type");
  std::optional<Elem> elem = ElemOf(token().text);
  if (!elem) FailUnsupported(fmt::format("unknown type '{}'", token().text.substr(0, 60)));
  lexer_.Advance();
  return *elem;
}

Type Parser::ParseTensor() {
  Expect("tensor");
  Expect('<');
  Type type;
  if (At(TokenKind::kInteger)) lexer_.ReadDimensions(type.shape);
  if (type.shape.empty()) Fail("a tensor needs static dimensions");
  int64_t count = 1;
  for (int64_t dimension : type.shape) {
    if (dimension < 1 || (dimension & (dimension - 1)) != 0) Fail("a dimension is not a power of two");
    count *= dimension;
    if (count > kMaxElements) Fail("a tensor has more than 2^20 elements");
  }
  if (At(TokenKind::kBang)) {
    Type element = ParseBangType();
    if (element.elem != Elem::kPtr) Fail("a tensor of descriptors");
    type.elem = element.elem;
    type.pointee = element.pointee;
  } else if (At(TokenKind::kWord) && (token().text.starts_with("si") || token().text.starts_with("ui"))) {
    std::optional<Elem> elem = ElemOf(token().text.substr(1));
    if (!elem) FailUnsupported(fmt::format("unknown type '{}'", token().text.substr(0, 60)));
    type.elem = *elem;
    type.desc_sign = token().text[0];
    lexer_.Advance();
  } else {
    type.elem = ParseScalar();
  }
  if (token().Is(',')) FailUnsupported("tensor encodings are not supported");
  Expect('>');
  return type;
}

Type Parser::ParseDescriptorBody() {
  Expect('<');
  if (!token().Is("tensor")) FailUnexpected("the descriptor's block type");
  Type type = ParseTensor();
  if (type.elem == Elem::kPtr) Fail("a descriptor of pointers");
  if (type.shape.size() > kMaxDescriptorRank) Fail("a descriptor has more than 8 dimensions");
  type.pointee = std::exchange(type.elem, Elem::kDesc);
  Expect('>');
  return type;
}

std::vector<Type> Parser::ParseTypes() {
  std::vector<Type> types;
  do {
    types.push_back(ParseType());
  } while (Accept(','));
  return types;
}

std::vector<Type> Parser::ParseTypesInBrackets() {
  Expect('(');
  if (Accept(')')) return {};
  std::vector<Type> types = ParseTypes();
  Expect(')');
  return types;
}

std::vector<Type> Parser::ParseResultList() {
  if (token().Is('(')) return ParseTypesInBrackets();
  std::vector<Type> types;
  types.push_back(ParseType());
  return types;
}

// ---------------------------------------------------------------- attributes

void Parser::ParseProperties(Operation& op) {
  if (!Accept('<')) return;
  if (!token().Is('{')) FailUnexpected("'{'");
  ParseAttributes(&op);
  Expect('>');
}

// Of dialect attributes (with a dot in their name) hints about lanes are kept.
void Parser::ParseAttributes(Operation* op) {
  if (!Accept('{')) return;
  if (Accept('}')) return;
  do {
    if (!At(TokenKind::kWord) && !At(TokenKind::kString)) FailUnexpected("an attribute");
    std::string_view name = Take().text;
    const bool hint = name == "tt.divisibility" || name == "tt.contiguity" || name == "tt.constancy";
    std::optional<Attribute> value = true;
    if (Accept('=')) value = hint ? ParseHint() : ParseAttributeValue();
    bool keep = op != nullptr && value && (hint || name.find('.') == std::string_view::npos);
    if (keep) op->attributes.insert_or_assign(std::string(name), std::move(*value));
  } while (Accept(','));
  Expect('}');
}

// Nothing for forms that no operation needs (they are skipped).
std::optional<Attribute> Parser::ParseAttributeValue() {
  std::optional<Attribute> value;
  if (At(TokenKind::kString)) {
    value = Unescape(Take().text);
  } else if (Accept("true")) {
    value = true;
  } else if (Accept("false")) {
    value = false;
  } else if (token().Is("array")) {
    value = ParseArray();
  } else if (At(TokenKind::kInteger) || token().Is('-')) {
    bool negative = Accept('-');
    if (At(TokenKind::kFloat)) {
      lexer_.Advance();
    } else {
      int64_t magnitude = TakeInteger();
      value = negative ? static_cast<int64_t>(0 - static_cast<uint64_t>(magnitude)) : magnitude;
    }
  } else if (At(TokenKind::kFloat) || At(TokenKind::kAlias) || At(TokenKind::kSymbol)) {
    lexer_.Advance();
  } else if (At(TokenKind::kWord) || At(TokenKind::kBang)) {  // dense<8>, unit, #llvm.loop_annotation<…>
    lexer_.Advance();
  } else if (!token().Is('[') && !token().Is('{')) {
    FailUnexpected("an attribute's value");
  }
  while (token().Is('<') || token().Is('[') || token().Is('{')) lexer_.SkipBrackets();
  if (Accept(':')) ParseType();
  return value;
}

// 16 : i32, dense<16> : tensor<2xi32> or dense<[8, 4]> : tensor<2xi32>: a number for each dimension.
std::optional<Attribute> Parser::ParseHint() {
  std::vector<int64_t> numbers;
  const bool dense = Accept("dense");
  if (dense) Expect('<');
  const bool several = dense && Accept('[');
  do {
    numbers.push_back(TakeInteger());
  } while (several && Accept(','));
  if (several) Expect(']');
  if (dense) Expect('>');
  Expect(':');
  if (!dense) return ParseScalar(), numbers;
  Expect("tensor");
  Expect('<');
  std::vector<int64_t> dimensions;
  if (At(TokenKind::kInteger)) lexer_.ReadDimensions(dimensions);
  ParseScalar();
  Expect('>');
  constexpr int64_t kMostDimensions = 20;
  if (dimensions.size() == 1 && numbers.size() == 1 && dimensions[0] <= kMostDimensions)
    numbers.resize(dimensions[0], numbers[0]);
  return numbers;
}

std::vector<int64_t> Parser::ParseArray() {
  Expect("array");
  Expect('<');
  TakeWord("the array's type");
  std::vector<int64_t> items;
  if (Accept(':')) {
    do {
      if (Accept("true")) {
        items.push_back(1);
      } else if (Accept("false")) {
        items.push_back(0);
      } else {
        items.push_back(TakeInteger());
      }
    } while (Accept(','));
  }
  Expect('>');
  return items;
}

}  // namespace tritogen::tile
