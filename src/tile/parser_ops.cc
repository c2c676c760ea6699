#include "tile/literal.h"
#include "tile/op_traits.h"
#include "tile/parser.h"
#include "tile/tile.h"

namespace tritogen::tile {

std::vector<Type> Parser::ParseBody(Operation& op) {
  const OpTraits traits = TraitsOf(op.code);
  switch (op.code) {
    case OpCode::kClampF:
      return ParseClamp(op);
    case OpCode::kCmpI:
    case OpCode::kCmpF:
      return ParseCompare(op);
    case OpCode::kSelect:
      return ParseSelect(op);
    case OpCode::kConstant:
      return ParseConstant(op);
    case OpCode::kPoison:
    case OpCode::kMakeRange:
      return ParseTypeOnly(op);
    case OpCode::kProgramId:
    case OpCode::kNumPrograms:
      return ParseProgramInfo(op);
    case OpCode::kSplat:
    case OpCode::kBroadcast:
    case OpCode::kExpandDims:
    case OpCode::kReshape:
    case OpCode::kTrans:
      return ParseArrowForm(op, 1, 1, 1);
    case OpCode::kHistogram:
      return ParseArrowForm(op, 1, 2, 1);
    case OpCode::kJoin:
    case OpCode::kCat:
      return ParseArrowForm(op, 2, 2, 1);
    case OpCode::kSplit:
      return ParseArrowForm(op, 1, 1, 2);
    case OpCode::kUnsplat:
      return ParseUnsplat(op);
    case OpCode::kGather:
      return ParseGather(op);
    case OpCode::kExtern:
      return ParseExtern(op);
    case OpCode::kInlineAsm:
      return ParseInlineAsm(op);
    case OpCode::kAddPtr:
      return ParseAddPtr(op);
    case OpCode::kLoad:
      return ParseLoad(op);
    case OpCode::kStore:
      return ParseStore(op);
    case OpCode::kAtomicRmw:
    case OpCode::kAtomicCas:
      return ParseAtomic(op);
    case OpCode::kMakeDescriptor:
      return ParseMakeDescriptor(op);
    case OpCode::kDescLoad:
    case OpCode::kDescStore:
    case OpCode::kDescReduce:
    case OpCode::kDescGather:
    case OpCode::kDescScatter:
      return ParseDescriptorAccess(op);
    case OpCode::kDot:
      return ParseDot(op);
    case OpCode::kDotScaled:
      return ParseDotScaled(op);
    case OpCode::kPrint:
      return ParsePrint(op);
    case OpCode::kAssert:
    case OpCode::kAssume:
      return ParseAssert(op);
    case OpCode::kBarrier:
      ParseAttributes(&op);
      return {};
    case OpCode::kCall:
      return ParseCall(op);
    case OpCode::kFor:
      return ParseFor(op);
    case OpCode::kIf:
      return ParseIf(op);
    case OpCode::kWhile:
      return ParseWhile(op);
    default:
      break;
  }
  if (IsTerminator(op.code)) return ParseTerminator(op);
  if (IsGenericForm(op.code)) return ParseGenericForm(op);
  switch (traits.family) {
    case OpFamily::kIntegerArith:
    case OpFamily::kFloatArith:
      return ParseArith(op, static_cast<size_t>(traits.arity));
    case OpFamily::kArithCast:
      return ParseCast(op, /*arith=*/true);
    case OpFamily::kTritonCast:
      return ParseCast(op, /*arith=*/false);
    case OpFamily::kOther:
      break;
  }
  FailUnsupported(fmt::format("{} is not supported", OpName(op.code)));
}

// ---------------------------------------------------------------- pieces

void Parser::ParseOperands(Operation& op) {
  if (!At(TokenKind::kValue)) return;
  do {
    op.operands.push_back(Use());
  } while (Accept(','));
}

void Parser::ParseIndices(Operation& op) {
  Expect('[');
  ParseOperands(op);
  Expect(']');
}

// What may stand between operands and types; flags promise something about values, and change no result.
void Parser::ParseFlags(Operation& op) {
  while (At(TokenKind::kWord)) {
    if (Accept("exact") || Accept("nneg") || Accept("disjoint")) continue;
    if (!Accept("overflow")) Expect("fastmath");
    if (!token().Is('<')) FailUnexpected("'<'");
    lexer_.SkipBrackets();
  }
  ParseAttributes(&op);
}

void Parser::ParseWordAttribute(Operation& op, std::string_view name) {
  op.attributes.insert_or_assign(std::string(name), std::string(TakeWord(name)));
}

// cacheModifier = ca evictionPolicy = evict_last {isVolatile = true}
void Parser::ParseMemoryHints(Operation& op) {
  while (token().Is("cacheModifier") || token().Is("evictionPolicy")) {
    std::string_view name = Take().text;
    Expect('=');
    ParseWordAttribute(op, name);
  }
  ParseAttributes(&op);
}

void Parser::ExpectCount(const Operation& op, size_t low, size_t high) const {
  if (op.operands.size() >= low && op.operands.size() <= high) return;
  throw TtirError(op.ttir_line, fmt::format("{} with {} operands", OpName(op.code), op.operands.size()));
}

void Parser::CheckOperand(const Operation& op, size_t index, const Type& printed) const {
  const Type& type = TypeOf(op.operands[index]);
  if (type == printed) return;
  throw TtirError(op.ttir_line, fmt::format("{}: operand {} is {}, but the text says {}", OpName(op.code),
                                            index, TypeName(type), TypeName(printed)));
}

void Parser::CheckOperands(const Operation& op, std::span<const Type> printed) const {
  if (op.operands.size() != printed.size()) {
    throw TtirError(op.ttir_line, fmt::format("{} has {} operands, but {} types", OpName(op.code),
                                              op.operands.size(), printed.size()));
  }
  for (size_t i = 0; i < printed.size(); ++i) CheckOperand(op, i, printed[i]);
}

void Parser::CheckTypeList(Operation& op) {
  Expect(':');
  CheckOperands(op, ParseTypes());
}

// ---------------------------------------------------------------- arithmetic

// %a, %b : T
std::vector<Type> Parser::ParseArith(Operation& op, size_t arity) {
  ParseOperands(op);
  ExpectCount(op, arity, arity);
  ParseFlags(op);
  Expect(':');
  Type type = ParseType();
  for (size_t i = 0; i < arity; ++i) CheckOperand(op, i, type);
  return {std::move(type)};
}

// slt, %a, %b : T
std::vector<Type> Parser::ParseCompare(Operation& op) {
  ParseWordAttribute(op, "predicate");
  Expect(',');
  Type type = std::move(ParseArith(op, 2).front());
  return {Type{.elem = Elem::kI1, .shape = std::move(type.shape)}};
}

// %c, %a, %b : T (scalar condition) or : C, T
std::vector<Type> Parser::ParseSelect(Operation& op) {
  ParseOperands(op);
  ExpectCount(op, 3, 3);
  ParseFlags(op);
  Expect(':');
  Type condition{.elem = Elem::kI1};
  Type type = ParseType();
  if (Accept(',')) condition = std::exchange(type, ParseType());
  CheckOperand(op, 0, condition);
  CheckOperand(op, 1, type);
  CheckOperand(op, 2, type);
  return {std::move(type)};
}

// %x, %lo, %hi, propagateNan = none : T
std::vector<Type> Parser::ParseClamp(Operation& op) {
  for (int i = 0; i < 3; ++i) {
    op.operands.push_back(Use());
    Expect(',');
  }
  Expect("propagateNan");
  Expect('=');
  ParseWordAttribute(op, "propagateNan");
  ParseAttributes(&op);
  Expect(':');
  Type type = ParseType();
  for (size_t i = 0; i < 3; ++i) CheckOperand(op, i, type);
  return {std::move(type)};
}

// %x : A to B, or %x, rounding = rtne : A -> B
std::vector<Type> Parser::ParseCast(Operation& op, bool arith) {
  op.operands.push_back(Use());
  if (op.code == OpCode::kFpToFp && Accept(',')) {
    Expect("rounding");
    Expect('=');
    ParseWordAttribute(op, "rounding");
  }
  ParseFlags(op);
  Expect(':');
  CheckOperand(op, 0, ParseType());
  if (arith) {
    Expect("to");
  } else {
    ExpectArrow();
  }
  return {ParseType()};
}

// 16 : i32, true, dense<…> : tensor<…>; hints stand before the value
std::vector<Type> Parser::ParseConstant(Operation& op) {
  ParseAttributes(nullptr);
  ConstantBits value;
  Type type{.elem = Elem::kI1};
  if (token().Is("true") || token().Is("false")) {
    value.bits = {ReadScalarBits(lexer_, Elem::kI1)};
  } else if (Accept("dense")) {
    if (!token().Is('<')) FailUnexpected("'<'");
    int line = token().line;
    std::string_view inside = lexer_.SkipBrackets();
    Expect(':');
    type = ParseType();
    if (!type.is_tensor() || type.elem == Elem::kPtr)
      Fail("a dense constant of a type that is no tensor of numbers");
    value = ReadDense(inside, type, line);
  } else if (token().Is("dense_resource")) {
    FailUnsupported("constants in resources are not supported");
  } else {
    Lexer literal = lexer_;  // the type that decides how to read it comes later
    Accept('-');
    if (!At(TokenKind::kInteger) && !At(TokenKind::kFloat)) FailUnexpected("a constant");
    lexer_.Advance();
    Expect(':');
    type = {.elem = ParseScalar()};
    value.bits = {ReadScalarBits(literal, type.elem)};
  }
  op.attributes.emplace("value", std::move(value));
  return {std::move(type)};
}

// ---------------------------------------------------------------- program, shapes

// {end = 16 : i32, start = 0 : i32} : T
std::vector<Type> Parser::ParseTypeOnly(Operation& op) {
  ParseAttributes(&op);
  Expect(':');
  return {ParseType()};
}

// x : i32
std::vector<Type> Parser::ParseProgramInfo(Operation& op) {
  std::string_view axis = TakeWord("x, y or z");
  if (axis != "x" && axis != "y" && axis != "z") Fail("a grid has the axes x, y and z");
  op.attributes.emplace("axis", static_cast<int64_t>(axis[0] - 'x'));
  ParseAttributes(&op);
  Expect(':');
  return {ParseType()};
}

// %a, %b allow_reorder {…} : A -> R. Where there are two operands, one type is printed: that of the first.
std::vector<Type> Parser::ParseArrowForm(Operation& op, size_t low, size_t high, size_t results) {
  ParseOperands(op);
  ExpectCount(op, low, high);
  if (op.code == OpCode::kReshape) {
    for (std::string_view flag : {"allow_reorder", "efficient_layout"}) {
      if (Accept(flag)) op.attributes.emplace(flag, true);
    }
  }
  ParseAttributes(&op);
  Expect(':');
  Type source = ParseType();
  CheckOperand(op, 0, source);
  if (low == 2) CheckOperand(op, 1, source);
  ExpectArrow();
  return std::vector<Type>(results, ParseType());
}

// %x : T
std::vector<Type> Parser::ParseUnsplat(Operation& op) {
  Type type = std::move(ParseArith(op, 1).front());
  type.shape.clear();
  return {std::move(type)};
}

// %source[%indices] {axis = 1 : i32} : (A, B) -> R
std::vector<Type> Parser::ParseGather(Operation& op) {
  op.operands.push_back(Use());
  ParseIndices(op);
  ExpectCount(op, 2, 2);
  ParseAttributes(&op);
  Expect(':');
  CheckOperands(op, ParseTypesInBrackets());
  ExpectArrow();
  return {ParseType()};
}

// %a, %b {symbol = "__nv_powf", …} : (A, B) -> R
std::vector<Type> Parser::ParseExtern(Operation& op) {
  ParseOperands(op);
  ParseAttributes(&op);
  Expect(':');
  CheckOperands(op, ParseTypesInBrackets());
  ExpectArrow();
  return {ParseType()};
}

// "asm" {…} %a, %b : A, B -> R, S
std::vector<Type> Parser::ParseInlineAsm(Operation& op) {
  if (!At(TokenKind::kString)) FailUnexpected("the assembly text");
  op.attributes.emplace("asm_string", Unescape(Take().text));
  ParseAttributes(&op);
  ParseOperands(op);
  if (Accept(':')) CheckOperands(op, ParseTypes());
  ExpectArrow();
  return ParseTypes();
}

}  // namespace tritogen::tile
