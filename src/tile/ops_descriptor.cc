// Tensor descriptors: blocks of a tensor at element offsets, turned into pointer tiles and masks. Elements
// outside the tensor's shape read as padding and are not written.
#include <algorithm>

#include "tile/fault.h"
#include "tile/machine.h"
#include "tile/tile_operands.h"

namespace tritogen::tile {
namespace {

constexpr int64_t kTmaAlign = 16;  // bytes: what the hardware asks of base and strides

int64_t ReadInteger(const std::byte* at, int bytes) {
  return bytes == 8 ? LoadAs<int64_t>(at) : LoadAs<int32_t>(at);
}

// Operands: pointer, shape × r, strides × r.
class MakeDescriptor final : public Instruction {
 public:
  MakeDescriptor(int rank, int element_bytes, std::vector<int> operand_bytes, bool pad_nan)
      : rank_(rank),
        element_bytes_(element_bytes),
        operand_bytes_(std::move(operand_bytes)),
        pad_nan_(pad_nan) {}

  void Run(Context& c) const override {
    DescriptorValue value;
    value.base = LoadAs<uint64_t>(operand(c, 0));
    value.pad_nan = pad_nan_;
    bool aligned = PointerOffset(value.base) % kTmaAlign == 0;
    for (int i = 0; i < rank_; ++i) {
      value.shape[i] = ReadInteger(operand(c, 1 + i), operand_bytes_[1 + i]);
      value.strides[i] = ReadInteger(operand(c, 1 + rank_ + i), operand_bytes_[1 + rank_ + i]);
      if (i + 1 < rank_)
        aligned =
            aligned &&
            static_cast<int64_t>(static_cast<uint64_t>(value.strides[i]) * element_bytes_) % kTmaAlign == 0;
    }
    if (!aligned) {
      Fail(c, *this, FaultKind::kMisaligned, "make_tensor_descriptor",
           "base and outer strides must be multiples of 16 bytes");
    }
    if (value.strides[rank_ - 1] != 1)
      FailUndefined(c, *this, "the last stride of a tensor descriptor must be 1");
    std::memcpy(result(c), &value, sizeof(value));
  }

 private:
  int rank_, element_bytes_;
  std::vector<int> operand_bytes_;
  bool pad_nan_;
};

// Where the elements of a block lie. Scratch 0: pointers, scratch 1: mask.
class BlockAccess : public Instruction {
 protected:
  BlockAccess(std::vector<int64_t> block, Elem elem)
      : block_(std::move(block)), elem_(elem), size_(ElemBytes(elem)) {
    access_bytes = size_;
    lanes_ = 1;
    for (int64_t dimension : block_) lanes_ *= static_cast<size_t>(dimension);
  }

  uint64_t* pointers(Context& c) const { return reinterpret_cast<uint64_t*>(scratch(c, 0)); }
  uint8_t* mask(Context& c) const { return reinterpret_cast<uint8_t*>(scratch(c, 1)); }
  DescriptorValue descriptor(const Context& c) const { return LoadAs<DescriptorValue>(operand(c, 0)); }

  // The block at `offsets` (operands 1 … r).
  void FindBlock(Context& c) const {
    const DescriptorValue d = descriptor(c);
    int64_t offsets[kMaxDescriptorRank];
    for (size_t i = 0; i < block_.size(); ++i)
      offsets[i] = LoadAs<int32_t>(operand(c, 1 + static_cast<int>(i)));
    FillRows(d, offsets, 0, d.base, true, pointers(c), mask(c));
  }

  // Row i of the block is the tensor's row rows[i], from one column on (operands 1 and 2).
  void FindRows(Context& c, size_t rows) const {
    const DescriptorValue d = descriptor(c);
    const size_t columns = lanes_ / rows;
    for (size_t i = 0; i < rows; ++i) {
      const int64_t row = LoadAs<int32_t>(operand(c, 1) + i * sizeof(int32_t));
      const int64_t column = LoadAs<int32_t>(operand(c, 2));
      const bool inside = row >= 0 && row < d.shape[0];
      FillRow(d, 1, column, static_cast<int64_t>(columns), Advance(d.base, row, d.strides[0]), inside,
              pointers(c) + i * columns, mask(c) + i * columns);
    }
  }

  // Lanes outside the tensor get the descriptor's padding.
  void FillPadding(Context& c, std::byte* to) const {
    const uint64_t zero = 0;
    const uint64_t nan = elem_ == Elem::kF64    ? 0x7FF8000000000000
                         : elem_ == Elem::kF32  ? 0x7FC00000
                         : elem_ == Elem::kBF16 ? 0x7FC0
                         : elem_ == Elem::kF16  ? 0x7E00
                                                : 0x7F;
    const bool use_nan = descriptor(c).pad_nan != 0 && IsFloat(elem_);
    lanes::Memory().fill(use_nan ? &nan : &zero, size_, to, lanes_);
  }

  std::vector<int64_t> block_;
  Elem elem_;
  int size_;
  size_t lanes_;

 private:
  uint64_t Advance(uint64_t pointer, int64_t index, int64_t stride) const {
    const uint64_t to =
        pointer + static_cast<uint64_t>(index) * static_cast<uint64_t>(stride) * static_cast<uint64_t>(size_);
    return ((pointer ^ to) >> kOffsetBits) == 0 ? to : kWildPointer;
  }

  void FillRow(const DescriptorValue& d, size_t dimension, int64_t offset, int64_t count, uint64_t base,
               bool inside, uint64_t* p, uint8_t* on) const {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t index = offset + i;
      on[i] = inside && index >= 0 && index < d.shape[dimension];
      p[i] = Advance(base, index, d.strides[dimension]);
    }
  }

  void FillRows(const DescriptorValue& d, const int64_t* offsets, size_t dimension, uint64_t base,
                bool inside, uint64_t* p, uint8_t* on) const {
    if (dimension + 1 == block_.size()) {
      FillRow(d, dimension, offsets[dimension], block_[dimension], base, inside, p, on);
      return;
    }
    size_t inner = 1;
    for (size_t i = dimension + 1; i < block_.size(); ++i) inner *= static_cast<size_t>(block_[i]);
    for (int64_t i = 0; i < block_[dimension]; ++i) {
      const int64_t index = offsets[dimension] + i;
      FillRows(d, offsets, dimension + 1, Advance(base, index, d.strides[dimension]),
               inside && index >= 0 && index < d.shape[dimension], p + i * inner, on + i * inner);
    }
  }
};

// Operands: descriptor, offsets × r; or descriptor, rows, column when `rows` is not 0.
class DescriptorLoad final : public BlockAccess {
 public:
  DescriptorLoad(std::vector<int64_t> block, Elem elem, size_t rows)
      : BlockAccess(std::move(block), elem), rows_(rows) {
    memory = MemoryUse::kRead;
  }
  void Run(Context& c) const override {
    rows_ == 0 ? FindBlock(c) : FindRows(c, rows_);
    FillPadding(c, result(c));
    c.launch->memory().Load(c, *this, pointers(c), mask(c), size_, result(c), lanes_);
  }

 private:
  size_t rows_;
};

// The same with the values as the last operand. With `rmw` it updates atomically; scratch 2 takes the old
// values.
class DescriptorStore final : public BlockAccess {
 public:
  DescriptorStore(std::vector<int64_t> block, Elem elem, size_t rows, Rmw rmw)
      : BlockAccess(std::move(block), elem), rows_(rows), rmw_(rmw) {
    memory = rmw == nullptr ? MemoryUse::kWrite : MemoryUse::kAtomic;
  }
  void Run(Context& c) const override {
    rows_ == 0 ? FindBlock(c) : FindRows(c, rows_);
    const std::byte* values = operand(c, operands - 1);
    if (c.launch->kernel().spins) c.launch->NoteChange();
    if (rmw_ == nullptr)
      return c.launch->memory().Store(c, *this, pointers(c), mask(c), size_, values, lanes_);
    c.launch->memory().Atomic(c, *this, LaunchMemory::AtomicKind::kChange, pointers(c), mask(c), size_,
                              lanes_, [&](std::byte* data, size_t lane, size_t count) {
                                rmw_(data, values + lane * size_, scratch(c, 2) + lane * size_, count);
                              });
  }

 private:
  size_t rows_;
  Rmw rmw_;
};

void LowerMake(Lowering& lowering, const Operation& op) {
  const Type& type = lowering.TypeOf(op.results[0]);
  std::vector<Register> operands;
  std::vector<int> bytes;
  for (ValueId operand : op.operands) {
    operands.push_back(lowering.Use(operand).reg);
    bytes.push_back(ElemBytes(lowering.TypeOf(operand).elem));
  }
  const Register result = lowering.NewTile(Elem::kDesc, 1);
  lowering.Emit<MakeDescriptor>({result}, operands, {}, static_cast<int>(type.shape.size()),
                                ElemBytes(type.pointee), bytes, op.Attr<int64_t>("padding", 1) == 2);
  lowering.Define(op.results[0], {result, true});
}

void LowerAccess(Lowering& lowering, const Operation& op) {
  const Type& descriptor = lowering.TypeOf(op.operands[0]);
  const Elem elem = descriptor.pointee;
  const bool loads = op.code == OpCode::kDescLoad || op.code == OpCode::kDescGather;
  const bool by_rows = op.code == OpCode::kDescGather || op.code == OpCode::kDescScatter;
  const Type& tile = loads ? lowering.TypeOf(op.results[0]) : lowering.TypeOf(op.operands.back());
  const size_t rows = by_rows ? static_cast<size_t>(lowering.TypeOf(op.operands[1]).numel()) : 0;
  const std::vector<int64_t> block = by_rows ? tile.shape : descriptor.shape;
  const size_t lanes = tile.numel();
  std::vector<Register> operands;
  for (ValueId operand : op.operands) {
    operands.push_back(lowering.TypeOf(operand).is_tensor() ? lowering.Full(operand)
                                                            : lowering.Use(operand).reg);
  }
  std::vector<Register> scratch{lowering.NewScratch(lanes * sizeof(uint64_t)), lowering.NewScratch(lanes)};
  if (loads) {
    const Register result = lowering.NewTile(tile.elem, lanes);
    lowering.Emit<DescriptorLoad>({result}, operands, scratch, block, elem, rows);
    lowering.Define(op.results[0], {result, lanes == 1});
    return;
  }
  Rmw rmw = nullptr;
  if (op.code == OpCode::kDescReduce) {
    std::string kind = op.Attr<std::string>("kind");
    if (IsFloat(elem)) {
      kind = "f" + kind;
    } else if (descriptor.desc_sign == 'u' && (kind == "min" || kind == "max")) {
      kind = "u" + kind;
    }
    rmw = FindRmw(kind, elem);
    if (rmw == nullptr) lowering.Unsupported(op, fmt::format("kind {} of {}", kind, TypeName(tile)));
    scratch.push_back(lowering.NewScratch(lanes * ElemBytes(elem)));
  }
  lowering.Emit<DescriptorStore>({}, operands, scratch, block, elem, rows, rmw);
}

}  // namespace

bool LowerDescriptor(Lowering& lowering, const Operation& op) {
  switch (op.code) {
    case OpCode::kMakeDescriptor:
      return LowerMake(lowering, op), true;
    case OpCode::kDescLoad:
    case OpCode::kDescGather:
    case OpCode::kDescStore:
    case OpCode::kDescScatter:
    case OpCode::kDescReduce:
      return LowerAccess(lowering, op), true;
    default:
      return false;
  }
}

}  // namespace tritogen::tile
