// Shape operations. What keeps the row-major order of elements is only another name for its operand.
#include <algorithm>

#include "tile/elementwise.h"
#include "tile/fault.h"
#include "tile/lanes/memory.h"
#include "tile/lanes/word.h"

namespace tritogen::tile {
namespace {

struct Dimension {
  int64_t count, stride;  // stride in elements of the source
};

// Row-major result from a source with any strides: broadcast, trans.
class StridedCopy final : public Instruction {
 public:
  StridedCopy(int size, const std::vector<Dimension>& dimensions) : size_(size) {
    for (const Dimension& d : dimensions) {
      if (d.count == 1) continue;
      if (!dimensions_.empty() && dimensions_.back().stride == d.stride * d.count) {
        dimensions_.back() = {dimensions_.back().count * d.count, d.stride};  // two that read like one
      } else {
        dimensions_.push_back(d);
      }
    }
    if (dimensions_.empty()) dimensions_.push_back({1, 1});
  }

  void Run(Context& c) const override { Copy(0, operand(c, 0), result(c)); }

 private:
  std::byte* Copy(size_t depth, const std::byte* from, std::byte* to) const {
    const int64_t count = dimensions_[depth].count, stride = dimensions_[depth].stride;
    if (depth + 1 < dimensions_.size()) {
      for (int64_t i = 0; i < count; ++i) to = Copy(depth + 1, from + i * stride * size_, to);
      return to;
    }
    if (stride == 1) {
      std::memcpy(to, from, count * size_);
    } else if (stride == 0) {
      lanes::Memory().fill(from, size_, to, count);
    } else {
      WithWord(size_, [&](auto word) { CopyStrided<decltype(word)>(from, to, count, stride); });
    }
    return to + count * size_;
  }

  template <class T>
  static void CopyStrided(const std::byte* from, std::byte* to, int64_t count, int64_t stride) {
    const T* source = reinterpret_cast<const T*>(from);
    T* target = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < count; ++i) target[i] = source[i * stride];
  }

  int64_t size_;
  std::vector<Dimension> dimensions_;
};

// a0 b0 a1 b1 … from a and b.
class Interleave final : public Instruction {
 public:
  Interleave(int size, size_t lanes) : size_(size), lanes_(lanes) {}
  void Run(Context& c) const override {
    std::byte* to = result(c);
    for (size_t i = 0; i < lanes_; ++i) {
      std::memcpy(to + 2 * i * size_, operand(c, 0) + i * size_, size_);
      std::memcpy(to + (2 * i + 1) * size_, operand(c, 1) + i * size_, size_);
    }
  }

 private:
  size_t size_, lanes_;
};

class Deinterleave final : public Instruction {
 public:
  Deinterleave(int size, size_t lanes) : size_(size), lanes_(lanes) {}
  void Run(Context& c) const override {
    const std::byte* from = operand(c, 0);
    for (size_t i = 0; i < lanes_; ++i) {
      std::memcpy(result(c, 0) + i * size_, from + 2 * i * size_, size_);
      std::memcpy(result(c, 1) + i * size_, from + (2 * i + 1) * size_, size_);
    }
  }

 private:
  size_t size_, lanes_;
};

class Concatenate final : public Instruction {
 public:
  Concatenate(size_t first_bytes, size_t second_bytes) : first_(first_bytes), second_(second_bytes) {}
  void Run(Context& c) const override {
    std::memcpy(result(c), operand(c, 0), first_);
    std::memcpy(result(c) + first_, operand(c, 1), second_);
  }

 private:
  size_t first_, second_;
};

std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

void LowerStrided(Lowering& lowering, const Operation& op, const std::vector<Dimension>& dimensions) {
  const Type& type = lowering.TypeOf(op.results[0]);
  const Operand source = lowering.Use(op.operands[0]);
  if (source.uniform || type.numel() == 1) return lowering.Define(op.results[0], source);
  const Register result = lowering.NewTile(type.elem, type.numel());
  lowering.Emit<StridedCopy>({result}, {source.reg}, {}, ElemBytes(type.elem), dimensions);
  lowering.Define(op.results[0], {result, false});
}

void LowerBroadcast(Lowering& lowering, const Operation& op) {
  const Type &from = lowering.TypeOf(op.operands[0]), &to = lowering.TypeOf(op.results[0]);
  if (from.shape == to.shape) return lowering.Define(op.results[0], lowering.Use(op.operands[0]));
  const std::vector<int64_t> strides = RowMajorStrides(from.shape);
  std::vector<Dimension> dimensions;
  for (size_t i = 0; i < to.shape.size(); ++i) {
    dimensions.push_back({to.shape[i], from.shape[i] == to.shape[i] ? strides[i] : 0});
  }
  LowerStrided(lowering, op, dimensions);
}

void LowerTrans(Lowering& lowering, const Operation& op) {
  const Type &from = lowering.TypeOf(op.operands[0]), &to = lowering.TypeOf(op.results[0]);
  const std::vector<int64_t> strides = RowMajorStrides(from.shape);
  const auto order = op.Attr<std::vector<int64_t>>("order");
  std::vector<Dimension> dimensions;
  for (size_t i = 0; i < to.shape.size(); ++i) dimensions.push_back({to.shape[i], strides[order[i]]});
  LowerStrided(lowering, op, dimensions);
}

void LowerJoinSplitCat(Lowering& lowering, const Operation& op) {
  const Type& result = lowering.TypeOf(op.results[0]);
  const int size = ElemBytes(result.elem);
  std::vector<Register> operands, results;
  for (ValueId operand : op.operands) operands.push_back(lowering.Full(operand));
  for (ValueId id : op.results) {
    results.push_back(lowering.NewTile(result.elem, result.numel()));
    lowering.Define(id, {results.back(), result.numel() == 1});
  }
  if (op.code == OpCode::kJoin) {
    lowering.Emit<Interleave>(results, operands, {}, size, result.numel() / 2);
  } else if (op.code == OpCode::kSplit) {
    lowering.Emit<Deinterleave>(results, operands, {}, size, result.numel());
  } else {
    lowering.Emit<Concatenate>(results, operands, {}, lowering.TypeOf(op.operands[0]).numel() * size,
                               lowering.TypeOf(op.operands[1]).numel() * size);
  }
}

void LowerMakeRange(Lowering& lowering, const Operation& op) {
  const int64_t lanes = lowering.TypeOf(op.results[0]).numel();
  std::vector<int32_t> range(lanes);
  const int64_t start = op.Attr<int64_t>("start");
  for (int64_t i = 0; i < lanes; ++i) range[i] = static_cast<int32_t>(start + i);
  lowering.Define(op.results[0], {lowering.Constant(range.data(), lanes * sizeof(int32_t)), lanes == 1});
}

}  // namespace

bool LowerShape(Lowering& lowering, const Operation& op) {
  switch (op.code) {
    case OpCode::kSplat:
    case OpCode::kUnsplat:
    case OpCode::kExpandDims:
    case OpCode::kReshape:
      lowering.Define(op.results[0], lowering.Use(op.operands[0]));
      return true;
    case OpCode::kBroadcast:
      return LowerBroadcast(lowering, op), true;
    case OpCode::kTrans:
      return LowerTrans(lowering, op), true;
    case OpCode::kJoin:
    case OpCode::kSplit:
    case OpCode::kCat:
      return LowerJoinSplitCat(lowering, op), true;
    case OpCode::kMakeRange:
      return LowerMakeRange(lowering, op), true;
    default:
      return false;
  }
}

}  // namespace tritogen::tile
