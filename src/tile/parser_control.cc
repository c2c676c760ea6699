#include "tile/op_traits.h"
#include "tile/parser.h"
#include "tile/tile.h"

namespace tritogen::tile {

// @f(%a, %b) : (A, B) -> R
std::vector<Type> Parser::ParseCall(Operation& op) {
  if (!At(TokenKind::kSymbol)) FailUnexpected("the called @name");
  op.attributes.emplace("callee", Unescape(Take().text));
  Expect('(');
  ParseOperands(op);
  Expect(')');
  ParseAttributes(nullptr);
  Expect(':');
  CheckOperands(op, ParseTypesInBrackets());
  ExpectArrow();
  return ParseResultList();
}

// %i = %lb to %ub step %s iter_args(%a = %x) -> (T) : i32 { … } {hints}
std::vector<Type> Parser::ParseFor(Operation& op) {
  if (!At(TokenKind::kValue)) FailUnexpected("the loop's variable");
  std::vector<NamedType> arguments(1);
  arguments[0].name = Take().text;
  Expect('=');
  op.operands.push_back(Use());
  Expect("to");
  op.operands.push_back(Use());
  Expect("step");
  op.operands.push_back(Use());
  std::vector<Type> types;
  if (Accept("iter_args")) {
    std::vector<NamedType> carried = ParseInits(op);
    ExpectArrow();
    types = ParseResultList();
    if (types.size() != carried.size()) Fail("scf.for carries more or fewer values than types");
    for (size_t i = 0; i < types.size(); ++i) CheckOperand(op, 3 + i, types[i]);
    arguments.insert(arguments.end(), carried.begin(), carried.end());
  }
  arguments[0].type = {.elem = Elem::kI64};  // `index`, which is not printed
  if (Accept(':')) arguments[0].type = ParseType();
  for (size_t i = 0; i < 3; ++i) CheckOperand(op, i, arguments[0].type);
  if (!token().Is('{')) FailUnexpected("the loop's body");
  op.regions.push_back(ParseRegion(arguments, /*implicit_yield=*/true));
  ParseAttributes(nullptr);
  return types;
}

std::vector<Parser::NamedType> Parser::ParseInits(Operation& op) {
  std::vector<NamedType> carried;
  Expect('(');
  if (Accept(')')) return carried;
  do {
    if (!At(TokenKind::kValue)) FailUnexpected("a carried value");
    std::string_view name = Take().text;
    Expect('=');
    op.operands.push_back(Use());
    carried.push_back({name, TypeOf(op.operands.back())});
  } while (Accept(','));
  Expect(')');
  return carried;
}

// %c -> (T) { … } else { … } {hints}
std::vector<Type> Parser::ParseIf(Operation& op) {
  op.operands.push_back(Use());
  std::vector<Type> types;
  if (At(TokenKind::kArrow)) {
    lexer_.Advance();
    types = ParseResultList();
  }
  if (!token().Is('{')) FailUnexpected("the branch taken");
  op.regions.push_back(ParseRegion({}, /*implicit_yield=*/true));
  op.regions.emplace_back();
  if (Accept("else")) op.regions.back() = ParseRegion({}, /*implicit_yield=*/true);
  ParseAttributes(nullptr);
  return types;
}

// (%a = %x) : (A) -> B { … } do { ^bb0(%b: B): … } attributes {hints}
std::vector<Type> Parser::ParseWhile(Operation& op) {
  std::vector<NamedType> carried;
  if (token().Is('(')) carried = ParseInits(op);
  Expect(':');
  CheckOperands(op, ParseResultList());
  ExpectArrow();
  std::vector<Type> types = ParseResultList();
  op.regions.push_back(ParseRegion(carried));
  Expect("do");
  op.regions.push_back(ParseRegion({}));
  if (Accept("attributes")) ParseAttributes(nullptr);
  return types;
}

// (%a, %b) <{axis = 0 : i32}> ({ ^bb0(…): … }) {hints} : (A, B) -> (R, S)
std::vector<Type> Parser::ParseGenericForm(Operation& op) {
  Expect('(');
  ParseOperands(op);
  Expect(')');
  ParseProperties(op);
  Expect('(');
  op.regions.push_back(ParseRegion({}));
  SortBlocks(op.regions.back());
  Expect(')');
  ParseAttributes(&op);
  Expect(':');
  CheckOperands(op, ParseTypesInBrackets());
  ExpectArrow();
  return ParseResultList();
}

std::vector<Type> Parser::ParseTerminator(Operation& op) {
  if (op.code == OpCode::kBr) {
    op.successors.push_back(ParseSuccessor());
    return {};
  }
  if (op.code == OpCode::kCondBr) {
    op.operands.push_back(Use());
    for (int i = 0; i < 2; ++i) {
      Expect(',');
      op.successors.push_back(ParseSuccessor());
    }
    ParseAttributes(nullptr);
    return {};
  }
  size_t untyped = 0;
  if (op.code == OpCode::kCondition) {  // scf.condition(%c) %a, %b : A, B
    Expect('(');
    op.operands.push_back(Use());
    Expect(')');
    untyped = 1;
  }
  ParseAttributes(nullptr);
  ParseOperands(op);
  if (op.operands.size() == untyped) return {};
  Expect(':');
  std::vector<Type> types = ParseTypes();
  if (untyped == 1) types.insert(types.begin(), TypeOf(op.operands[0]));
  CheckOperands(op, types);
  return {};
}

// ^bb4(%a, %b : A, B)
Successor Parser::ParseSuccessor() {
  if (!At(TokenKind::kLabel)) FailUnexpected("a block");
  Successor successor;
  successor.block = labels_->IdOf(token().text, token().line);
  lexer_.Advance();
  if (!Accept('(')) return successor;
  std::vector<Type> types;
  do {
    successor.arguments.push_back(Use());
  } while (Accept(','));
  Expect(':');
  types = ParseTypes();
  Expect(')');
  if (types.size() != successor.arguments.size()) Fail("a branch passes more or fewer values than types");
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] != TypeOf(successor.arguments[i]))
      Fail("a branch passes a value of another type than it says");
  }
  return successor;
}

}  // namespace tritogen::tile
