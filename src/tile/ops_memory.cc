// tt.addptr, tt.load, tt.store.
#include "tile/fault.h"
#include "tile/machine.h"
#include "tile/tile_operands.h"

namespace tritogen::tile {
namespace {

class AddPtr final : public Instruction {
 public:
  AddPtr(Elem elem, int64_t scale, bool pointer_uniform, bool offset_uniform, size_t lanes)
      : elem_(elem),
        scale_(scale),
        pointer_step_(pointer_uniform ? 0 : 1),
        offset_step_(offset_uniform ? 0 : 1),
        lanes_(lanes) {}
  void Run(Context& c) const override {
    lanes::Memory().add_ptr(reinterpret_cast<const uint64_t*>(operand(c, 0)), pointer_step_, operand(c, 1),
                            offset_step_, elem_, scale_, reinterpret_cast<uint64_t*>(result(c)), lanes_);
  }

 private:
  Elem elem_;
  int64_t scale_;
  size_t pointer_step_, offset_step_, lanes_;
};

// Of lanes that hints let a compiler access at once the first one's pointer and mask stand for all. Operands:
// pointers, [mask].
class CheckHints final : public Instruction {
 public:
  CheckHints(VectorAccess vector, int64_t bytes, Layout mask, size_t lanes)
      : vector_(vector), bytes_(bytes), mask_(mask), lanes_(lanes) {}
  void Run(Context& c) const override {
    const ActiveLanes active = FindActive(mask_, mask_ == Layout::kNone ? nullptr : operand(c, 1), lanes_);
    if (!active.any) return;
    const auto* pointers = reinterpret_cast<const uint64_t*>(operand(c, 0));
    const auto on = [&](size_t lane) { return active.mask == nullptr || active.mask[lane] != 0; };
    const auto step = static_cast<size_t>(vector_.step), count = static_cast<size_t>(vector_.lanes);
    const uint64_t vector_bytes = count * bytes_;
    for (size_t block = 0; block < lanes_; block += step * count) {
      for (size_t first = block; first < block + step; ++first) {
        bool fits = !on(first) || pointers[first] % vector_bytes == 0;
        for (size_t i = 1; i < count; ++i) {
          const size_t lane = first + i * step;
          fits &= on(lane) == on(first) && (!on(first) || pointers[lane] == pointers[first] + i * bytes_);
        }
        if (!fits) FailAt(c, first);
      }
    }
  }

 private:
  [[noreturn]] void FailAt(const Context& c, size_t lane) const {
    FailUndefined(
        c, *this,
        fmt::format(
            "by tl.multiple_of, tl.max_contiguous or tl.max_constancy a compiler may access {} lanes at "
            "once, but those from lane {} on do not follow each other, or not from such a multiple",
            vector_.lanes, lane));
  }

  VectorAccess vector_;
  int64_t bytes_;
  Layout mask_;
  size_t lanes_;
};

// Operands: pointers, [mask, [other]].
class Load final : public Instruction {
 public:
  Load(Elem elem, Layout mask, Layout other, bool is_volatile, size_t lanes)
      : size_(ElemBytes(elem)),
        undefined_(UndefinedBits(elem)),
        mask_(mask),
        other_(other),
        volatile_(is_volatile),
        lanes_(lanes) {
    memory = MemoryUse::kRead;
    access_bytes = size_;
  }

  void Run(Context& c) const override {
    const ActiveLanes active = FindActive(mask_, mask_ == Layout::kNone ? nullptr : operand(c, 1), lanes_);
    if (!active.any || active.mask != nullptr) FillOther(c);
    if (!active.any) return;
    const auto* pointers = reinterpret_cast<const uint64_t*>(operand(c, 0));
    if (volatile_) return ReadVolatile(c, pointers, active.mask);
    c.launch->memory().Load(c, *this, pointers, active.mask, size_, result(c), lanes_);
  }

 private:
  void FillOther(Context& c) const {
    if (other_ == Layout::kTile) {
      if (result(c) != operand(c, 2)) std::memcpy(result(c), operand(c, 2), size_ * lanes_);
    } else {
      const uint64_t undefined = c.launch->options().like_a_gpu ? 0 : undefined_;
      const void* value = other_ == Layout::kNone ? static_cast<const void*>(&undefined) : operand(c, 2);
      lanes::Memory().fill(value, size_, result(c), lanes_);
    }
  }
  // No acquire: PTX has ld.volatile, which is relaxed.
  void ReadVolatile(Context& c, const uint64_t* pointers, const uint8_t* mask) const {
    c.launch->memory().Atomic(c, *this, LaunchMemory::AtomicKind::kRead, pointers, mask, size_, lanes_,
                              [&](std::byte* data, size_t lane, size_t count) {
                                std::memcpy(result(c) + lane * size_, data, count * size_);
                              });
  }

  int size_;
  uint64_t undefined_;
  Layout mask_, other_;
  bool volatile_;
  size_t lanes_;
};

// Operands: pointers, values, [mask].
class Store final : public Instruction {
 public:
  Store(Elem elem, Layout mask, bool write_through, size_t lanes)
      : size_(ElemBytes(elem)),
        undefined_(UndefinedBits(elem)),
        is_float_(IsFloat(elem) && size_ > 1),
        mask_(mask),
        lanes_(lanes) {
    memory = MemoryUse::kWrite;
    access_bytes = size_;
    sets_flag = write_through && lanes == 1;
  }

  void Run(Context& c) const override {
    const ActiveLanes active = FindActive(mask_, mask_ == Layout::kNone ? nullptr : operand(c, 2), lanes_);
    if (!active.any) return;
    const auto* pointers = reinterpret_cast<const uint64_t*>(operand(c, 0));
    const Executable& kernel = c.launch->kernel();
    if (is_float_ && kernel.undefined_lanes) CheckDefined(c, active.mask);
    if (kernel.spins) {
      c.launch->NoteChange();
      if (sets_flag) return SetFlag(c, pointers);
    }
    c.launch->memory().Store(c, *this, pointers, active.mask, size_, operand(c, 1), lanes_);
  }

 private:
  void CheckDefined(Context& c, const uint8_t* mask) const {
    const std::byte* values = operand(c, 1);
    for (size_t i = 0; i < lanes_; ++i) {
      if (std::memcmp(values + i * size_, &undefined_, size_) != 0 || (mask != nullptr && mask[i] == 0))
        continue;
      FailUndefined(
          c, *this,
          fmt::format("lane {} of a store holds what a masked load without `other` left undefined", i));
    }
  }
  // Its value may be read by who waits for it, as an element is written at once. It is no release: PTX has
  // st.global.wt, a plain store, which others may see before what was stored in front of it.
  void SetFlag(Context& c, const uint64_t* pointers) const {
    c.launch->memory().Atomic(
        c, *this, LaunchMemory::AtomicKind::kChange, pointers, nullptr, size_, 1,
        [&](std::byte* data, size_t, size_t) { std::memcpy(data, operand(c, 1), size_); });
  }

  int size_;
  uint64_t undefined_;
  bool is_float_;
  Layout mask_;
  size_t lanes_;
};

void LowerAddPtr(Lowering& lowering, const Operation& op) {
  const Type& type = lowering.TypeOf(op.results[0]);
  const Elem offset_elem = lowering.TypeOf(op.operands[1]).elem;
  Operand pointer = lowering.Use(op.operands[0]), offset = lowering.Use(op.operands[1]);
  Elem elem = offset_elem;
  if (elem == Elem::kI1) {
    offset = EmitCast(lowering, op, OpCode::kExtSI, offset, Elem::kI1, Elem::kI32, type.numel());
    elem = Elem::kI32;
  }
  const bool uniform = (pointer.uniform && offset.uniform) || type.numel() == 1;
  const size_t lanes = uniform ? 1 : type.numel();
  const Register result = lowering.NewTile(Elem::kPtr, lanes);
  Instruction& emitted =
      lowering.Emit<AddPtr>({result}, {pointer.reg, offset.reg}, {}, elem, ElemBytes(type.pointee),
                            pointer.uniform && !uniform, offset.uniform && !uniform, lanes);
  emitted.in_place = elem == Elem::kI64 ? 0b11 : 0b01;
  lowering.Define(op.results[0], {result, uniform});
}

// One lane is enough when every operand is the same in all of them.
bool AllUniform(Lowering& lowering, const Operation& op) {
  for (ValueId operand : op.operands) {
    if (!lowering.Use(operand).uniform) return false;
  }
  return true;
}

// `operands`: pointers, …; `mask_at`: which of them is the mask, if there is one.
void EmitHintCheck(Lowering& lowering, const Operation& op, const std::vector<Register>& operands,
                   size_t mask_at, size_t lanes) {
  const VectorAccess vector = lowering.VectorOf(op);
  if (vector.lanes == 1 || lanes == 1) return;
  const Layout mask = LayoutOf(lowering, op, mask_at);
  std::vector<Register> checked{operands[0]};
  if (mask != Layout::kNone) checked.push_back(operands[mask_at]);
  lowering.Emit<CheckHints>({}, checked, {}, vector, ElemBytes(lowering.TypeOf(op.operands[0]).pointee), mask,
                            lanes);
}

void LowerLoad(Lowering& lowering, const Operation& op) {
  const Type& type = lowering.TypeOf(op.results[0]);
  const bool uniform = AllUniform(lowering, op) || type.numel() == 1;
  const size_t lanes = uniform ? 1 : type.numel();
  const Layout mask = LayoutOf(lowering, op, 1), other = LayoutOf(lowering, op, 2);
  std::vector<Register> operands{lowering.Full(lowering.Use(op.operands[0]), Elem::kPtr, lanes)};
  for (size_t i = 1; i < op.operands.size(); ++i) operands.push_back(lowering.Use(op.operands[i]).reg);
  EmitHintCheck(lowering, op, operands, 1, lanes);
  const bool is_volatile = op.Attr<bool>("isVolatile") || op.Attr<std::string>("cacheModifier") == "cv";
  const Register result = lowering.NewTile(type.elem, lanes);
  Instruction& load = lowering.Emit<Load>({result}, operands, {}, type.elem, mask, other, is_volatile, lanes);
  if (other == Layout::kTile) load.in_place = 0b100;
  if (!is_volatile) load.first_lane = FirstLane(type, uniform);
  lowering.executable().volatile_loads |= is_volatile;
  lowering.executable().undefined_lanes |= mask != Layout::kNone && other == Layout::kNone;
  lowering.Define(op.results[0], {result, uniform});
}

void LowerStore(Lowering& lowering, const Operation& op) {
  const Type& type = lowering.TypeOf(op.operands[1]);
  const size_t lanes = AllUniform(lowering, op) ? 1 : type.numel();
  std::vector<Register> operands{lowering.Full(lowering.Use(op.operands[0]), Elem::kPtr, lanes),
                                 lowering.Full(lowering.Use(op.operands[1]), type.elem, lanes)};
  if (op.operands.size() > 2) operands.push_back(lowering.Use(op.operands[2]).reg);
  EmitHintCheck(lowering, op, operands, 2, lanes);
  const bool write_through = op.Attr<std::string>("cacheModifier") == "wt";
  Instruction& store =
      lowering.Emit<Store>({}, operands, {}, type.elem, LayoutOf(lowering, op, 2), write_through, lanes);
  if (!store.sets_flag) store.first_lane = FirstLane(type, lanes < static_cast<size_t>(type.numel()));
}

}  // namespace

uint64_t UndefinedBits(Elem elem) {
  switch (elem) {
    case Elem::kF64:
      return 0x7FFF5B5B40000000;
    case Elem::kF32:
      return 0x7FFADADA;
    case Elem::kBF16:
      return 0x7FFA;
    case Elem::kF16:
      return 0x7FD6;
    case Elem::kF8E4M3:
    case Elem::kF8E5M2:
      return 0x7F;
    case Elem::kI1:
      return 0;
    default:
      return 0x5A5A5A5A5A5A5A5A;
  }
}

void AcquireAt(Context& c, uint64_t pointer) {
  if (SyncTracker* tracker = c.launch->tracker()) tracker->Acquire(c.program, pointer);
}
void ReleaseAt(Context& c, uint64_t pointer) {
  if (SyncTracker* tracker = c.launch->tracker())
    c.segments = tracker->Release(c.program, c.segments, pointer);
}

bool LowerMemory(Lowering& lowering, const Operation& op) {
  switch (op.code) {
    case OpCode::kAddPtr:
      return LowerAddPtr(lowering, op), true;
    case OpCode::kLoad:
      return LowerLoad(lowering, op), true;
    case OpCode::kStore:
      return LowerStore(lowering, op), true;
    case OpCode::kBarrier:
      return true;  // a program is sequential
    default:
      return false;
  }
}

}  // namespace tritogen::tile
