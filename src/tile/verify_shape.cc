// Rules of the operations that make and rearrange tensors.
#include <algorithm>
#include <limits>

#include "tile/op_checker.h"

namespace tritogen::tile {
namespace {

using Shape = std::vector<int64_t>;

void CheckMakeRange(const OpChecker& c) {
  c.Counts(0, 0, 1);
  const int64_t start = c.Integer("start"), end = c.Integer("end");
  c.Require(start >= 0 && end > start && end <= std::numeric_limits<int32_t>::max(), "a strange range");
  c.OutIs(WithShape(Elem::kI32, {end - start}));
}

void CheckSplat(const OpChecker& c) {
  c.Counts(1, 1, 1);
  const bool spreads = c.op().code == OpCode::kSplat;
  const Type& scalar = spreads ? c.In(0) : c.Out();
  const Type& tensor = spreads ? c.Out() : c.In(0);
  c.Require(scalar.shape.empty() && tensor.is_tensor() && SameElement(scalar, tensor),
            "a scalar and a tensor of its type");
  c.Require(spreads || tensor.numel() == 1, "needs a tensor of one element");
}

void CheckBroadcast(const OpChecker& c) {
  c.Counts(1, 1, 1);
  const Shape &from = c.In(0).shape, &to = c.Out().shape;
  bool fits = c.In(0).is_tensor() && SameElement(c.In(0), c.Out()) && from.size() == to.size();
  for (size_t i = 0; fits && i < to.size(); ++i) fits = from[i] == to[i] || from[i] == 1;
  if (!fits) c.Fail(fmt::format("{} does not broadcast to {}", TypeName(c.In(0)), TypeName(c.Out())));
}

// Result type: the operand's element type with another shape.
void CheckReshaped(const OpChecker& c, Shape shape) {
  Type wanted = c.In(0);
  wanted.shape = std::move(shape);
  c.OutIs(wanted);
}

void CheckExpandDims(const OpChecker& c) {
  c.Counts(1, 1, 1);
  c.Require(c.In(0).is_tensor(), "needs a tensor");
  Shape shape = c.In(0).shape;
  const int64_t axis = c.Integer("axis");
  c.Require(axis >= 0 && axis <= static_cast<int64_t>(shape.size()), "axis out of range");
  shape.insert(shape.begin() + axis, 1);
  CheckReshaped(c, std::move(shape));
}

void CheckReshape(const OpChecker& c) {
  c.Counts(1, 1, 1);
  c.Require(c.In(0).is_tensor() && c.Out().is_tensor() && SameElement(c.In(0), c.Out()) &&
                c.In(0).numel() == c.Out().numel(),
            "must keep the elements");
}

void CheckTrans(const OpChecker& c) {
  c.Counts(1, 1, 1);
  c.Require(c.In(0).is_tensor(), "needs a tensor");
  const auto& order = c.Attribute<std::vector<int64_t>>("order", "an array");
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool permutation = order.size() == c.In(0).shape.size();
  for (size_t i = 0; permutation && i < sorted.size(); ++i)
    permutation = sorted[i] == static_cast<int64_t>(i);
  c.Require(permutation, "order is no permutation of the axes");
  Shape shape;
  for (int64_t axis : order) shape.push_back(c.In(0).shape[axis]);
  CheckReshaped(c, std::move(shape));
}

void CheckJoin(const OpChecker& c) {
  c.Counts(2, 2, 1);
  c.InIs(1, c.In(0));
  c.Require(c.In(0).elem != Elem::kDesc, "not defined for descriptors");
  Shape shape = c.In(0).shape;
  shape.push_back(2);
  CheckReshaped(c, std::move(shape));
}

void CheckSplit(const OpChecker& c) {
  c.Counts(1, 1, 2);
  c.Require(c.In(0).is_tensor() && c.In(0).shape.back() == 2, "the last dimension must be 2");
  Type half = c.In(0);
  half.shape.pop_back();
  c.OutIs(half, 0);
  c.OutIs(half, 1);
}

void CheckCat(const OpChecker& c) {
  c.Counts(2, 2, 1);
  c.Require(c.In(0).shape.size() == 1 && c.In(0).is_tensor(), "needs tensors of rank 1");
  c.InIs(1, c.In(0));
  CheckReshaped(c, {2 * c.In(0).shape[0]});
}

void CheckGather(const OpChecker& c) {
  c.Counts(2, 2, 1);
  const Type &source = c.In(0), &indices = c.In(1);
  c.Require(source.is_tensor() && IsInteger(indices.elem) && source.shape.size() == indices.shape.size(),
            "needs a tensor and integer indices of its rank");
  const int64_t axis = c.Integer("axis");
  c.Require(axis >= 0 && axis < static_cast<int64_t>(source.shape.size()), "axis out of range");
  for (size_t i = 0; i < source.shape.size(); ++i) {
    c.Require(static_cast<int64_t>(i) == axis || source.shape[i] == indices.shape[i],
              "indices of another shape");
  }
  CheckReshaped(c, indices.shape);
}

void CheckHistogram(const OpChecker& c) {
  c.Counts(1, 2, 1);
  c.Require(c.In(0).shape.size() == 1 && IsInteger(c.In(0).elem), "needs integers of rank 1");
  if (c.inputs() == 2) c.MaskIs(1, c.In(0).shape);
  const Elem bin = c.Out().elem;
  c.Require(c.Out().shape.size() == 1 && (bin == Elem::kI32 || bin == Elem::kI64),
            "bins must be i32 or i64 of rank 1");
}

}  // namespace

bool VerifyShapeOp(const OpChecker& c) {
  switch (c.op().code) {
    case OpCode::kMakeRange:
      CheckMakeRange(c);
      return true;
    case OpCode::kSplat:
    case OpCode::kUnsplat:
      CheckSplat(c);
      return true;
    case OpCode::kBroadcast:
      CheckBroadcast(c);
      return true;
    case OpCode::kExpandDims:
      CheckExpandDims(c);
      return true;
    case OpCode::kReshape:
      CheckReshape(c);
      return true;
    case OpCode::kTrans:
      CheckTrans(c);
      return true;
    case OpCode::kJoin:
      CheckJoin(c);
      return true;
    case OpCode::kSplit:
      CheckSplit(c);
      return true;
    case OpCode::kCat:
      CheckCat(c);
      return true;
    case OpCode::kGather:
      CheckGather(c);
      return true;
    case OpCode::kHistogram:
      CheckHistogram(c);
      return true;
    default:
      return false;
  }
}

}  // namespace tritogen::tile
