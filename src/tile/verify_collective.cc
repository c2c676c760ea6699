// Rules of reductions, scans, maps and dots. What their regions take and return is checked with the regions.
#include "tile/op_checker.h"

namespace tritogen::tile {
namespace {

constexpr int64_t kMaxPack = 64;

// One or more tensors of numbers, all of one shape.
void CheckOperandTensors(const OpChecker& c) {
  c.Require(c.inputs() > 0, "needs an operand");
  for (size_t i = 0; i < c.inputs(); ++i) {
    c.Require(c.In(i).is_tensor() && IsNumber(c.In(i).elem) && c.In(i).shape == c.In(0).shape,
              "operands must be tensors of numbers of one shape");
  }
}

void CheckReduceOrScan(const OpChecker& c) {
  CheckOperandTensors(c);
  c.Counts(1, c.inputs(), c.inputs());
  const int64_t axis = c.Integer("axis");
  std::vector<int64_t> shape = c.In(0).shape;
  c.Require(axis >= 0 && axis < static_cast<int64_t>(shape.size()), "axis out of range");
  if (c.op().code == OpCode::kReduce) shape.erase(shape.begin() + axis);
  c.Optional<bool>("reverse", "a bool");
  for (size_t i = 0; i < c.inputs(); ++i) c.OutIs(WithShape(c.In(i).elem, shape), i);
}

void CheckMap(const OpChecker& c) {
  CheckOperandTensors(c);
  c.Require(c.outputs() > 0, "needs a result");
  const int64_t pack = c.Integer("pack");
  c.Require(pack >= 1 && pack <= kMaxPack && c.In(0).numel() % pack == 0, "a strange pack");
  for (size_t i = 0; i < c.outputs(); ++i) {
    c.Require(IsNumber(c.Out(i).elem) && c.Out(i).shape == c.In(0).shape,
              "results must have the operands' shape");
  }
}

bool IsFp8(Elem elem) {
  return elem == Elem::kF8E4M3 || elem == Elem::kF8E5M2;
}

void CheckDot(const OpChecker& c) {
  c.Counts(3, 3, 1);
  const Type &a = c.In(0), &b = c.In(1), &sum = c.In(2);
  c.OutIs(sum);
  const size_t rank = a.shape.size();
  bool fits = (rank == 2 || rank == 3) && a.is_tensor() && b.shape.size() == rank && sum.shape.size() == rank;
  if (fits && rank == 3) fits = a.shape[0] == b.shape[0] && a.shape[0] == sum.shape[0];
  fits = fits && a.shape[rank - 1] == b.shape[rank - 2] && sum.shape[rank - 2] == a.shape[rank - 2] &&
         sum.shape[rank - 1] == b.shape[rank - 1];
  if (!fits) c.Fail(fmt::format("{} times {} is no {}", TypeName(a), TypeName(b), TypeName(sum)));
  const bool integers =
      IsInteger(a.elem) && a.elem == b.elem && sum.elem == Elem::kI32 && a.elem != Elem::kI1;
  const bool floats =
      IsFloat(a.elem) && (a.elem == b.elem || (IsFp8(a.elem) && IsFp8(b.elem))) && IsArithFloat(sum.elem);
  c.Require(integers || floats, "not defined for these element types");
  c.Word("inputPrecision", {"ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"});
  c.Integer("maxNumImpreciseAcc");
}

// Rows and columns of a dot_scaled side, counted in numbers; k is the inner extent.
struct Side {
  int64_t outer, k;
};

Side CheckSide(const OpChecker& c, size_t operand, std::string_view name) {
  c.Word(name, {"e4m3", "e5m2", "e2m1", "bf16", "fp16"});
  const std::string kind = c.op().Attr<std::string>(name);
  const Elem elem = kind == "e4m3"   ? Elem::kF8E4M3
                    : kind == "e5m2" ? Elem::kF8E5M2
                    : kind == "e2m1" ? Elem::kI8
                    : kind == "bf16" ? Elem::kBF16
                                     : Elem::kF16;
  const Type& side = c.In(operand);
  if (side.shape.size() == 3) c.Fail("batches are not supported", /*unsupported=*/true);
  c.Require(side.elem == elem && side.shape.size() == 2,
            fmt::format("operand {} does not hold {}", operand, kind));
  Side result = operand == 0 ? Side{side.shape[0], side.shape[1]} : Side{side.shape[1], side.shape[0]};
  const bool k_pack = c.Attribute<bool>(fmt::format("{}_k_pack", name), "a bool");
  c.Require(k_pack || kind == "e2m1", "only e2m1 packs along another axis than k");
  if (kind == "e2m1") (k_pack ? result.k : result.outer) *= 2;
  return result;
}

void CheckScale(const OpChecker& c, size_t operand, Side side) {
  const Elem elem = c.In(operand).elem;
  c.Require(elem == Elem::kI8 || elem == Elem::kF8E4M3, "scales must be i8 or f8E4M3FN");
  const int64_t block = elem == Elem::kI8 ? 32 : 16;
  c.Require(side.k % block == 0, "k is no multiple of the numbers that share a scale");
  c.InIs(operand, WithShape(elem, {side.outer, side.k / block}));
}

void CheckDotScaled(const OpChecker& c) {
  const bool lhs_scale = c.Attribute<bool>("lhs_scale", "a bool");
  const bool rhs_scale = c.Attribute<bool>("rhs_scale", "a bool");
  c.Attribute<bool>("fastMath", "a bool");
  const size_t count = 3 + lhs_scale + rhs_scale;
  c.Counts(count, count, 1);
  const Side lhs = CheckSide(c, 0, "lhs"), rhs = CheckSide(c, 1, "rhs");
  c.Require(lhs.k == rhs.k, "the inner extents differ");
  if (lhs_scale) CheckScale(c, 3, lhs);
  if (rhs_scale) CheckScale(c, 3 + lhs_scale, rhs);
  c.Require(IsArithFloat(c.Out().elem), "the sum must be floats");
  c.OutIs(WithShape(c.Out().elem, {lhs.outer, rhs.outer}));
  c.InIs(2, c.Out());
}

}  // namespace

bool VerifyCollectiveOp(const OpChecker& c) {
  switch (c.op().code) {
    case OpCode::kReduce:
    case OpCode::kScan:
      CheckReduceOrScan(c);
      return true;
    case OpCode::kMapElementwise:
      CheckMap(c);
      return true;
    case OpCode::kDot:
      CheckDot(c);
      return true;
    case OpCode::kDotScaled:
      CheckDotScaled(c);
      return true;
    default:
      return false;
  }
}

}  // namespace tritogen::tile
