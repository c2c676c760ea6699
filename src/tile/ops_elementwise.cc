// Arithmetic, comparisons, casts, selects and constants: one call of a lane kernel each. Where every operand
// is uniform the result is, and one lane is computed.
#include <fmt/format.h>

#include <algorithm>

#include "tile/elementwise.h"
#include "tile/lanes/lanes.h"
#include "tile/op_traits.h"

namespace tritogen::tile {
namespace {

class Unary final : public Instruction {
 public:
  Unary(lanes::UnaryFn fn, size_t lanes) : fn_(fn), lanes_(lanes) {}
  void Run(Context& c) const override { fn_(operand(c, 0), result(c), CountLanes(c, lanes_)); }

 private:
  lanes::UnaryFn fn_;
  size_t lanes_;
};

class Binary final : public Instruction {
 public:
  using Fn = void (*)(const void*, const void*, void*, size_t);
  Binary(Fn fn, size_t lanes) : fn_(fn), lanes_(lanes) {}
  void Run(Context& c) const override { fn_(operand(c, 0), operand(c, 1), result(c), CountLanes(c, lanes_)); }

 private:
  Fn fn_;
  size_t lanes_;
};

class Ternary final : public Instruction {
 public:
  Ternary(lanes::TernaryFn fn, size_t lanes) : fn_(fn), lanes_(lanes) {}
  void Run(Context& c) const override {
    fn_(operand(c, 0), operand(c, 1), operand(c, 2), result(c), CountLanes(c, lanes_));
  }

 private:
  lanes::TernaryFn fn_;
  size_t lanes_;
};

// A whole tile chosen by one condition.
class SelectTile final : public Instruction {
 public:
  SelectTile(size_t bytes, size_t lanes) : bytes_(bytes), lanes_(lanes) {}
  void Run(Context& c) const override {
    const bool first = LoadAs<uint8_t>(operand(c, 0)) != 0;
    std::memmove(result(c), operand(c, first ? 1 : 2), bytes_ * CountLanes(c, lanes_));
  }

 private:
  size_t bytes_, lanes_;
};

class Extern final : public Instruction {
 public:
  Extern(lanes::ExternFn fn, size_t lanes) : fn_(fn), lanes_(lanes) {}
  void Run(Context& c) const override {
    const void* arguments[3] = {};
    for (int i = 0; i < fn_.arity; ++i) arguments[i] = operand(c, i);
    fn_.call(arguments, result(c), CountLanes(c, lanes_));
  }

 private:
  lanes::ExternFn fn_;
  size_t lanes_;
};

// The same bits, but the checker has to know that the result may point anywhere.
class PointersFromIntegers final : public Instruction {
 public:
  explicit PointersFromIntegers(size_t lanes) : lanes_(lanes) { makes_pointers = true; }
  void Run(Context& c) const override {
    std::memmove(result(c), operand(c, 0), CountLanes(c, lanes_) * sizeof(uint64_t));
  }

 private:
  size_t lanes_;
};

// Pointers are compared and moved as integers.
Elem LaneElem(Elem elem) {
  return elem == Elem::kPtr ? Elem::kI64 : elem;
}

// Lowers one operation: looks at its operands once.
class ElementwiseLowering {
 public:
  ElementwiseLowering(Lowering& lowering, const Operation& op)
      : lowering_(lowering), op_(op), result_(lowering.TypeOf(op.results[0])) {
    uniform_ = std::all_of(op.operands.begin(), op.operands.end(),
                           [&](ValueId v) { return lowering.Use(v).uniform; });
    lanes_ = uniform_ ? 1 : lowering.LanesOf(result_);
  }

  void EmitUnary(lanes::UnaryFn fn) {
    if (fn == nullptr) Missing();
    Finish(lowering_.Emit<Unary>({NewResult()}, {Use(0).reg}, {}, fn, lanes_));
  }

  void EmitBinary(lanes::BinaryFn fn) {
    if (!fn) Missing();
    const auto chosen = uniform_ ? fn.vv : Use(1).uniform ? fn.vs : Use(0).uniform ? fn.sv : fn.vv;
    Finish(lowering_.Emit<Binary>({NewResult()}, {Use(0).reg, Use(1).reg}, {}, chosen, lanes_));
  }

  void EmitTernary(lanes::TernaryFn fn) {
    if (fn == nullptr) Missing();
    const std::vector<Register> operands = FullOperands();
    Finish(lowering_.Emit<Ternary>({NewResult()}, operands, {}, fn, lanes_));
  }

  void EmitExtern() {
    const std::string symbol = op_.Attr<std::string>("symbol");
    const lanes::ExternFn fn = lanes::FindExtern(symbol);
    if (!fn) lowering_.Unsupported(op_, "the libdevice function " + symbol + " is not supported on the CPU");
    bool fits = static_cast<size_t>(fn.arity) == op_.operands.size() && fn.result == result_.elem;
    for (int i = 0; fits && i < fn.arity; ++i) fits = lowering_.TypeOf(op_.operands[i]).elem == fn.operand[i];
    if (!fits)
      lowering_.Unsupported(op_, "operands that the libdevice function " + symbol + " does not take");
    const std::vector<Register> operands = FullOperands();
    lowering_.Emit<Extern>({NewResult()}, operands, {}, fn, lanes_);
    lowering_.Define(op_.results[0], {made_, uniform_ || lanes_ == 1});
  }

  void EmitPointers() {
    Finish(lowering_.Emit<PointersFromIntegers>({NewResult()}, {Use(0).reg}, {}, lanes_));
  }

  // The operand under another name: same bits.
  void Alias() { lowering_.Define(op_.results[0], Use(0)); }

  Elem OperandElem(int i = 0) const { return lowering_.TypeOf(op_.operands[i]).elem; }
  Elem result_elem() const { return result_.elem; }
  size_t lanes() const { return lanes_; }
  Operand Use(int i) const { return lowering_.Use(op_.operands[i]); }

 private:
  Register NewResult() { return made_ = lowering_.NewTile(result_.elem, lanes_); }

  std::vector<Register> FullOperands() {
    std::vector<Register> operands;
    for (size_t i = 0; i < op_.operands.size(); ++i)
      operands.push_back(lowering_.Full(Use(i), OperandElem(i), lanes_));
    return operands;
  }

  void Finish(Instruction& instruction) {
    for (size_t i = 0; i < op_.operands.size(); ++i) {
      if (ElemBytes(OperandElem(i)) == ElemBytes(result_.elem)) instruction.in_place |= 1u << i;
    }
    lowering_.Define(op_.results[0], {made_, uniform_ || lanes_ == 1});
  }

  [[noreturn]] void Missing() {
    const std::string type =
        op_.operands.empty() ? TypeName(result_) : TypeName(lowering_.TypeOf(op_.operands[0]));
    lowering_.Unsupported(op_, fmt::format("not supported on the CPU for {} → {}", type, TypeName(result_)));
  }

  Lowering& lowering_;
  const Operation& op_;
  const Type& result_;
  bool uniform_ = true;
  size_t lanes_ = 1;
  Register made_ = 0;
};

void LowerCast(Lowering& lowering, const Operation& op) {
  ElementwiseLowering e(lowering, op);
  const Elem from = e.OperandElem(), to = e.result_elem();
  OpCode code = op.code;
  if (to == Elem::kPtr && from != Elem::kPtr) return e.EmitPointers();
  if (code == OpCode::kBitcast || code == OpCode::kArithBitcast || code == OpCode::kPtrToInt)
    return e.Alias();
  if (code == OpCode::kIndexCast) {
    if (from == to) return e.Alias();
    code = ElemBits(from) < ElemBits(to) ? OpCode::kExtSI : OpCode::kTruncI;
  }
  e.EmitUnary(lanes::FindCast(code, from, to, op.Attr<std::string>("rounding")));
}

void LowerConstant(Lowering& lowering, const Operation& op) {
  const Type& type = lowering.TypeOf(op.results[0]);
  const size_t size = ElemBytes(type.elem);
  ConstantBits constant{true, {0}};  // kPoison: any value
  if (op.code == OpCode::kConstant) constant = op.Attr<ConstantBits>("value");
  if (size == 0 || constant.bits.empty()) lowering.Unsupported(op, "a constant of type " + TypeName(type));
  std::vector<std::byte> bytes(constant.bits.size() * size);
  for (size_t i = 0; i < constant.bits.size(); ++i) std::memcpy(&bytes[i * size], &constant.bits[i], size);
  const bool uniform = constant.bits.size() == 1;
  lowering.Define(op.results[0], {lowering.Constant(bytes.data(), bytes.size()), uniform});
}

}  // namespace

Operand EmitSelect(Lowering& lowering, Operand condition, Operand a, Operand b, Elem elem, size_t lanes) {
  const size_t count = condition.uniform && a.uniform && b.uniform ? 1 : lanes;
  const Register result = lowering.NewTile(elem, count);
  const Register first = lowering.Full(a, elem, count), second = lowering.Full(b, elem, count);
  if (condition.uniform) {
    lowering
        .Emit<SelectTile>({result}, {condition.reg, first, second}, {}, Lowering::RegisterBytes(elem), count)
        .in_place = 0b110;
  } else {
    const lanes::TernaryFn fn = lanes::FindSelect(ElemBytes(elem));
    lowering.Emit<Ternary>({result}, {condition.reg, first, second}, {}, fn, count).in_place =
        ElemBytes(elem) == 1 ? 0b111 : 0b110;
  }
  return {result, count == 1};
}

Operand EmitCast(Lowering& lowering, const Operation& op, OpCode code, Operand from, Elem from_elem,
                 Elem to_elem, size_t lanes) {
  if (from_elem == to_elem) return from;
  const size_t count = from.uniform ? 1 : lanes;
  const lanes::UnaryFn fn = lanes::FindCast(code, from_elem, to_elem);
  if (fn == nullptr) lowering.Unsupported(op, "needs a cast that the CPU does not have");
  const Register result = lowering.NewTile(to_elem, count);
  lowering.Emit<Unary>({result}, {from.reg}, {}, fn, count);
  return {result, from.uniform};
}

bool LowerElementwise(Lowering& lowering, const Operation& op) {
  if (op.code == OpCode::kConstant || op.code == OpCode::kPoison) return LowerConstant(lowering, op), true;
  const OpTraits traits = TraitsOf(op.code);
  if (traits.family == OpFamily::kArithCast || traits.family == OpFamily::kTritonCast)
    return LowerCast(lowering, op), true;
  if (op.code == OpCode::kSelect) {
    const Type& type = lowering.TypeOf(op.results[0]);
    lowering.Define(op.results[0],
                    EmitSelect(lowering, lowering.Use(op.operands[0]), lowering.Use(op.operands[1]),
                               lowering.Use(op.operands[2]), type.elem, lowering.LanesOf(type)));
    return true;
  }
  if (op.code == OpCode::kCmpI || op.code == OpCode::kCmpF) {
    ElementwiseLowering e(lowering, op);
    e.EmitBinary(lanes::FindCompare(op.code, op.Attr<std::string>("predicate"), LaneElem(e.OperandElem())));
    return true;
  }
  if (op.code == OpCode::kExtern) return ElementwiseLowering(lowering, op).EmitExtern(), true;
  if (traits.family != OpFamily::kIntegerArith && traits.family != OpFamily::kFloatArith) return false;
  ElementwiseLowering e(lowering, op);
  const Elem elem = e.result_elem();
  if (traits.arity == 1) {
    e.EmitUnary(lanes::FindUnary(op.code, elem));
  } else if (traits.arity == 2) {
    e.EmitBinary(lanes::FindBinary(op.code, elem));
  } else {
    const bool clamp_all = op.code == OpCode::kClampF && op.Attr<std::string>("propagateNan") == "all";
    e.EmitTernary(clamp_all ? lanes::FindClampAll(elem) : lanes::FindTernary(op.code, elem));
  }
  return true;
}

}  // namespace tritogen::tile
