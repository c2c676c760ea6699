#include "tile/parser.h"
#include "tile/tile.h"

namespace tritogen::tile {

// ---------------------------------------------------------------- memory

// %pointers, %offsets : P, I
std::vector<Type> Parser::ParseAddPtr(Operation& op) {
  ParseOperands(op);
  ExpectCount(op, 2, 2);
  ParseAttributes(&op);
  CheckTypeList(op);
  return {TypeOf(op.operands[0])};
}

// %pointers, %mask, %other … : P. Mask and other follow from P.
std::vector<Type> Parser::ParseLoad(Operation& op) {
  ParseOperands(op);
  ExpectCount(op, 1, 3);
  ParseMemoryHints(op);
  Expect(':');
  Type type = ParseType();
  CheckOperand(op, 0, type);
  type.elem = std::exchange(type.pointee, Elem::kNone);
  return {std::move(type)};
}

// %pointers, %values, %mask … : P
std::vector<Type> Parser::ParseStore(Operation& op) {
  ParseOperands(op);
  ExpectCount(op, 2, 3);
  ParseMemoryHints(op);
  Expect(':');
  CheckOperand(op, 0, ParseType());
  return {};
}

// add, acq_rel, gpu, %p, %v, %m : (P, V, M) -> V; cas without the kind
std::vector<Type> Parser::ParseAtomic(Operation& op) {
  if (op.code == OpCode::kAtomicRmw) {
    ParseWordAttribute(op, "kind");
    Expect(',');
  }
  ParseWordAttribute(op, "sem");
  Expect(',');
  ParseWordAttribute(op, "scope");
  Expect(',');
  ParseOperands(op);
  ExpectCount(op, op.code == OpCode::kAtomicRmw ? 2 : 3, 3);
  ParseAttributes(&op);
  Expect(':');
  CheckOperands(op, ParseTypesInBrackets());
  ExpectArrow();
  return {ParseType()};
}

// %base, [%shape…], [%strides…] {padding = 2 : i32} : <f16>, <tensor<16x32xf16>>
std::vector<Type> Parser::ParseMakeDescriptor(Operation& op) {
  op.operands.push_back(Use());
  Expect(',');
  ParseIndices(op);
  Expect(',');
  ParseIndices(op);
  ParseAttributes(&op);
  Expect(':');
  CheckOperand(op, 0, At(TokenKind::kBang) ? ParseBangType() : ParsePointerBody());
  Expect(',');
  return {At(TokenKind::kBang) ? ParseBangType() : ParseDescriptorBody()};
}

// %d[%i, %j] : D -> T                          load
// %d[%i, %j], %v : D, T                        store
// add, %d[%i, %j], %v : D, T                   reduce
// %d[%rows, %column] : (D, R, C) -> T          gather
// %d[%rows, %column], %v : D, R, C, T          scatter
std::vector<Type> Parser::ParseDescriptorAccess(Operation& op) {
  const bool indices_typed = op.code == OpCode::kDescGather || op.code == OpCode::kDescScatter;
  const bool loads = op.code == OpCode::kDescLoad || op.code == OpCode::kDescGather;
  if (op.code == OpCode::kDescReduce) {
    ParseWordAttribute(op, "kind");
    Expect(',');
  }
  op.operands.push_back(Use());
  ParseIndices(op);
  if (!loads) {
    Expect(',');
    op.operands.push_back(Use());
  }
  ParseMemoryHints(op);
  Expect(':');
  if (op.code == OpCode::kDescGather) {
    CheckOperands(op, ParseTypesInBrackets());
  } else if (indices_typed) {
    CheckOperands(op, ParseTypes());
  } else {
    CheckOperand(op, 0, ParseType());
    if (!loads) {
      Expect(',');
      CheckOperand(op, op.operands.size() - 1, ParseType());
    }
  }
  if (!loads) return {};
  ExpectArrow();
  return {ParseType()};
}

// ---------------------------------------------------------------- dots, messages

// %a, %b, %c, inputPrecision = tf32 {…} : A * B -> C
std::vector<Type> Parser::ParseDot(Operation& op) {
  op.attributes.emplace("inputPrecision", std::string("ieee"));
  op.attributes.emplace("maxNumImpreciseAcc", int64_t{0});
  for (int i = 0; i < 3; ++i) {
    if (i > 0) Expect(',');
    op.operands.push_back(Use());
  }
  if (Accept(',')) {
    Expect("inputPrecision");
    Expect('=');
    ParseWordAttribute(op, "inputPrecision");
  }
  ParseAttributes(&op);
  Expect(':');
  CheckOperand(op, 0, ParseType());
  Expect('*');
  CheckOperand(op, 1, ParseType());
  ExpectArrow();
  Type type = ParseType();
  CheckOperand(op, 2, type);
  return {std::move(type)};
}

// %a scale %sa, %b scale %sb, %c lhs = e2m1 rhs = e4m3 {…} : A, SA * B, SB -> C
std::vector<Type> Parser::ParseDotScaled(Operation& op) {
  std::vector<ValueId> sides, scales;
  std::vector<bool> scaled;
  for (int i = 0; i < 2; ++i) {
    sides.push_back(Use());
    scaled.push_back(Accept("scale"));
    if (scaled.back()) scales.push_back(Use());
    Expect(',');
  }
  op.operands = {sides[0], sides[1], Use()};
  op.operands.insert(op.operands.end(), scales.begin(), scales.end());
  op.attributes = {{"lhs_scale", scaled[0]},
                   {"rhs_scale", scaled[1]},
                   {"lhs_k_pack", true},
                   {"rhs_k_pack", true},
                   {"fastMath", false}};
  for (std::string_view side : {"lhs", "rhs"}) {
    Expect(side);
    Expect('=');
    ParseWordAttribute(op, side);
  }
  ParseAttributes(&op);
  Expect(':');
  size_t next_scale = 3;
  for (size_t i = 0; i < 2; ++i) {
    if (i == 1) Expect('*');
    CheckOperand(op, i, ParseType());
    if (!scaled[i]) continue;
    Expect(',');
    CheckOperand(op, next_scale++, ParseType());
  }
  ExpectArrow();
  Type type = ParseType();
  CheckOperand(op, 2, type);
  return {std::move(type)};
}

// " v: " {hex = false, isSigned = array<i32: 0>} : %v : T
std::vector<Type> Parser::ParsePrint(Operation& op) {
  if (!At(TokenKind::kString)) FailUnexpected("the text to print");
  op.attributes.emplace("prefix", Unescape(Take().text));
  ParseAttributes(&op);
  if (!Accept(':')) return {};
  ParseOperands(op);
  CheckTypeList(op);
  return {};
}

// %c, "message" : T (assert); %c : i1 (assume)
std::vector<Type> Parser::ParseAssert(Operation& op) {
  op.operands.push_back(Use());
  if (op.code == OpCode::kAssert) {
    Expect(',');
    if (!At(TokenKind::kString)) FailUnexpected("the message");
    op.attributes.emplace("message", Unescape(Take().text));
  }
  ParseAttributes(&op);
  CheckTypeList(op);
  return {};
}

}  // namespace tritogen::tile
