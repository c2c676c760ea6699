// tt.dot and tt.dot_scaled. Operands that have no kernel of their own are widened to f32, which holds them
// exactly.
#include <fmt/format.h>

#include <cmath>

#include "tile/elementwise.h"
#include "tile/lanes/memory.h"

namespace tritogen::tile {
namespace {

// Operands: a, b, c. Scratch 0: the kernel's.
class Dot final : public Instruction {
 public:
  Dot(lanes::DotFn fn, lanes::DotShape shape, size_t batch, Elem a, Elem acc, bool uniform_c)
      : fn_(fn),
        shape_(shape),
        batch_(batch),
        in_bytes_(ElemBytes(a)),
        acc_bytes_(ElemBytes(acc)),
        uniform_c_(uniform_c) {}

  void Run(Context& c) const override {
    const size_t acc_bytes = shape_.m * shape_.n * acc_bytes_;
    if (uniform_c_) {
      lanes::Memory().fill(operand(c, 2), static_cast<int>(acc_bytes_), result(c),
                           batch_ * shape_.m * shape_.n);
    } else if (result(c) != operand(c, 2)) {
      std::memcpy(result(c), operand(c, 2), batch_ * acc_bytes);
    }
    for (size_t i = 0; i < batch_; ++i) {
      fn_(operand(c, 0) + i * shape_.m * shape_.k * in_bytes_,
          operand(c, 1) + i * shape_.k * shape_.n * in_bytes_, result(c) + i * acc_bytes, shape_,
          scratch(c, 0));
    }
  }

 private:
  lanes::DotFn fn_;
  lanes::DotShape shape_;
  size_t batch_, in_bytes_, acc_bytes_;
  bool uniform_c_;
};

lanes::DotPrecision PrecisionOf(const std::string& word) {
  if (word == "tf32") return lanes::DotPrecision::kTf32;
  if (word == "tf32x3") return lanes::DotPrecision::kTf32x3;
  if (word == "bf16x3") return lanes::DotPrecision::kBf16x3;
  if (word == "bf16x6") return lanes::DotPrecision::kBf16x6;
  return lanes::DotPrecision::kIeee;
}

OpCode WideningOf(Elem elem) {
  return ElemBytes(elem) == 1 ? OpCode::kFpToFp : OpCode::kExtF;
}

struct Factor {
  Register reg;
  Elem elem;
};

// Emits c + a · b in c's type.
void EmitDot(Lowering& lowering, const Operation& op, Factor a, Factor b, lanes::DotPrecision precision,
             lanes::DotShape shape, size_t batch) {
  const Type& type = lowering.TypeOf(op.results[0]);
  Operand c = lowering.Use(op.operands[2]);
  Elem acc = type.elem;
  lanes::DotFn fn = a.elem == b.elem ? lanes::FindDot(a.elem, acc, precision) : nullptr;
  if (fn == nullptr && IsFloat(a.elem) && IsFloat(b.elem)) {
    a = {EmitCast(lowering, op, WideningOf(a.elem), {a.reg, false}, a.elem, Elem::kF32,
                  batch * shape.m * shape.k)
             .reg,
         Elem::kF32};
    b = {EmitCast(lowering, op, WideningOf(b.elem), {b.reg, false}, b.elem, Elem::kF32,
                  batch * shape.k * shape.n)
             .reg,
         Elem::kF32};
    c = EmitCast(lowering, op, WideningOf(acc), c, acc, Elem::kF32, type.numel());
    acc = Elem::kF32;
    fn = lanes::FindDot(Elem::kF32, Elem::kF32, lanes::DotPrecision::kIeee);
  }
  if (fn == nullptr) {
    lowering.Unsupported(op, fmt::format("{} times {} into {}", TypeName(lowering.TypeOf(op.operands[0])),
                                         TypeName(lowering.TypeOf(op.operands[1])), TypeName(type)));
  }
  const Register result = lowering.NewTile(acc, type.numel());
  const Register scratch = lowering.NewScratch(lanes::DotScratchBytes(shape));
  lowering.Emit<Dot>({result}, {a.reg, b.reg, c.reg}, {scratch}, fn, shape, batch, a.elem, acc, c.uniform)
      .in_place = 0b100;
  const OpCode narrowing = ElemBytes(type.elem) == 1 ? OpCode::kFpToFp : OpCode::kTruncF;
  lowering.Define(op.results[0],
                  EmitCast(lowering, op, narrowing, {result, false}, acc, type.elem, type.numel()));
}

void LowerPlainDot(Lowering& lowering, const Operation& op) {
  const Type &a = lowering.TypeOf(op.operands[0]), &b = lowering.TypeOf(op.operands[1]);
  const size_t rank = a.shape.size();
  const lanes::DotShape shape{static_cast<size_t>(a.shape[rank - 2]), static_cast<size_t>(b.shape[rank - 1]),
                              static_cast<size_t>(a.shape[rank - 1])};
  const size_t batch = rank == 3 ? a.shape[0] : 1;
  const auto precision =
      a.elem == Elem::kF32 ? PrecisionOf(op.Attr<std::string>("inputPrecision")) : lanes::DotPrecision::kIeee;
  EmitDot(lowering, op, {lowering.Full(op.operands[0]), a.elem}, {lowering.Full(op.operands[1]), b.elem},
          precision, shape, batch);
}

// The f32 values of one side of a scaled dot: rows × columns, row-major. Operands: values, [scales].
class ScaledOperand final : public Instruction {
 public:
  struct Side {
    std::string kind;               // of the elements
    int64_t rows = 0, columns = 0;  // unpacked
    bool packed_rows = false;       // e2m1: two rows in a byte, else two columns
    bool k_is_rows = false;         // which dimension is summed over
    int64_t scales = 0;             // per row or column across k; 0: no scales
  };
  explicit ScaledOperand(Side side) : side_(std::move(side)) {}

  void Run(Context& c) const override {
    auto* out = reinterpret_cast<float*>(result(c));
    const int64_t k_size = side_.k_is_rows ? side_.rows : side_.columns;
    for (int64_t i = 0; i < side_.rows; ++i) {
      for (int64_t j = 0; j < side_.columns; ++j) {
        float value = Element(operand(c, 0), i, j);
        if (side_.scales > 0) {
          const int64_t k = side_.k_is_rows ? i : j, other = side_.k_is_rows ? j : i;
          value *= Scale(LoadAs<uint8_t>(operand(c, 1) + other * side_.scales + k / (k_size / side_.scales)));
        }
        out[i * side_.columns + j] = value;
      }
    }
  }

 private:
  static float Scale(uint8_t bits) { return bits == 255 ? NAN : std::ldexp(1.0f, bits - 127); }

  float Element(const std::byte* values, int64_t i, int64_t j) const {
    const int64_t at = i * side_.columns + j;
    if (side_.kind == "e4m3") return lanes::E4M3ToFloat(LoadAs<uint8_t>(values + at));
    if (side_.kind == "e5m2") return lanes::E5M2ToFloat(LoadAs<uint8_t>(values + at));
    if (side_.kind == "bf16") return lanes::BFloatToFloat(LoadAs<uint16_t>(values + 2 * at));
    if (side_.kind == "fp16") return lanes::HalfToFloat(LoadAs<uint16_t>(values + 2 * at));
    static constexpr float kE2M1[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
    const int64_t byte = side_.packed_rows ? (i / 2) * side_.columns + j : i * (side_.columns / 2) + j / 2;
    const bool high = ((side_.packed_rows ? i : j) & 1) != 0;
    const uint8_t bits = LoadAs<uint8_t>(values + byte) >> (high ? 4 : 0) & 15;
    return bits & 8 ? -kE2M1[bits & 7] : kE2M1[bits & 7];
  }

  Side side_;
};

Factor LowerSide(Lowering& lowering, const Operation& op, ScaledOperand::Side side, ValueId values,
                 const ValueId* scale) {
  std::vector<Register> operands{lowering.Full(values)};
  if (scale != nullptr) {
    operands.push_back(lowering.Full(*scale));
    side.scales = lowering.TypeOf(*scale).shape[1];
  }
  const Register result = lowering.NewTile(Elem::kF32, side.rows * side.columns);
  lowering.Emit<ScaledOperand>({result}, operands, {}, std::move(side));
  return {result, Elem::kF32};
}

void LowerScaledDot(Lowering& lowering, const Operation& op) {
  const Type &a = lowering.TypeOf(op.operands[0]), &b = lowering.TypeOf(op.operands[1]),
             &c = lowering.TypeOf(op.operands[2]);
  const bool lhs_k_pack = op.Attr<bool>("lhs_k_pack", true), rhs_k_pack = op.Attr<bool>("rhs_k_pack", true);
  ScaledOperand::Side lhs{op.Attr<std::string>("lhs"), c.shape[0], a.shape[1], !lhs_k_pack, false, 0};
  if (lhs.kind == "e2m1" && lhs_k_pack) lhs.columns *= 2;
  ScaledOperand::Side rhs{op.Attr<std::string>("rhs"), b.shape[0], c.shape[1], rhs_k_pack, true, 0};
  if (rhs.kind == "e2m1" && rhs_k_pack) rhs.rows *= 2;
  for (const std::string& kind : {lhs.kind, rhs.kind}) {
    if (kind == "e2m3" || kind == "e3m2") lowering.Unsupported(op, "operands of kind " + kind);
  }
  const lanes::DotShape shape{static_cast<size_t>(c.shape[0]), static_cast<size_t>(c.shape[1]),
                              static_cast<size_t>(lhs.columns)};
  size_t next = 3;
  const ValueId* lhs_scale = op.Attr<bool>("lhs_scale") ? &op.operands[next++] : nullptr;
  const ValueId* rhs_scale = op.Attr<bool>("rhs_scale") ? &op.operands[next] : nullptr;
  const Factor left = LowerSide(lowering, op, lhs, op.operands[0], lhs_scale);
  const Factor right = LowerSide(lowering, op, rhs, op.operands[1], rhs_scale);
  EmitDot(lowering, op, left, right, lanes::DotPrecision::kIeee, shape, 1);
}

}  // namespace

bool LowerDot(Lowering& lowering, const Operation& op) {
  if (op.code == OpCode::kDot) return LowerPlainDot(lowering, op), true;
  if (op.code == OpCode::kDotScaled) return LowerScaledDot(lowering, op), true;
  return false;
}

}  // namespace tritogen::tile
