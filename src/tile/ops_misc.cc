// Program ids, gather, histogram, assert, print, and what the CPU refuses.
#include "tile/elementwise.h"
#include "tile/fault.h"
#include "tile/machine.h"
#include "tile/tile_operands.h"

namespace tritogen::tile {
namespace {

class ProgramId final : public Instruction {
 public:
  ProgramId(int axis, bool count) : axis_(axis), count_(count) {}
  void Run(Context& c) const override {
    StoreAs(result(c), static_cast<int32_t>(count_ ? c.launch->options().grid[axis_] : c.id[axis_]));
  }

 private:
  int axis_;
  bool count_;
};

// out[o, i, n] = source[o, index[o, i, n], n]
class Gather final : public Instruction {
 public:
  Gather(int size, int index_size, size_t outer, size_t source_axis, size_t axis, size_t inner)
      : size_(size),
        index_size_(index_size),
        outer_(outer),
        source_axis_(source_axis),
        axis_(axis),
        inner_(inner) {}

  void Run(Context& c) const override {
    size_t lane = 0;
    for (size_t o = 0; o < outer_; ++o) {
      for (size_t i = 0; i < axis_; ++i) {
        for (size_t n = 0; n < inner_; ++n, ++lane) {
          const int64_t index = LoadSigned(operand(c, 1) + lane * index_size_, index_size_);
          if (index < 0 || index >= static_cast<int64_t>(source_axis_)) {
            FailUndefined(c, *this,
                          fmt::format("lane {} gathers index {} of {} elements", lane, index, source_axis_));
          }
          const size_t from = (o * source_axis_ + static_cast<size_t>(index)) * inner_ + n;
          std::memcpy(result(c) + lane * size_, operand(c, 0) + from * size_, size_);
        }
      }
    }
  }

 private:
  size_t size_;
  int index_size_;
  size_t outer_, source_axis_, axis_, inner_;
};

// Operands: values, [mask].
class Histogram final : public Instruction {
 public:
  Histogram(int size, size_t lanes, int bin_size, size_t bins, Layout mask)
      : size_(size), lanes_(lanes), bin_size_(bin_size), bins_(bins), mask_(mask) {}

  void Run(Context& c) const override {
    std::memset(result(c), 0, bins_ * bin_size_);
    const ActiveLanes active = FindActive(mask_, mask_ == Layout::kNone ? nullptr : operand(c, 1), lanes_);
    if (!active.any) return;
    for (size_t i = 0; i < lanes_; ++i) {
      if (active.mask != nullptr && active.mask[i] == 0) continue;
      const int64_t bin = LoadSigned(operand(c, 0) + i * size_, size_);
      if (bin < 0 || bin >= static_cast<int64_t>(bins_)) {
        FailUndefined(c, *this,
                      fmt::format("lane {} counts value {} in a histogram of {} bins", i, bin, bins_));
      }
      std::byte* at = result(c) + bin * bin_size_;
      bin_size_ == 8 ? StoreAs(at, LoadAs<int64_t>(at) + 1) : StoreAs(at, LoadAs<int32_t>(at) + 1);
    }
  }

 private:
  int size_;
  size_t lanes_;
  int bin_size_;
  size_t bins_;
  Layout mask_;
};

class Assert final : public Instruction {
 public:
  Assert(std::string message, size_t lanes) : message_(std::move(message)), lanes_(lanes) {}
  void Run(Context& c) const override {
    const size_t lanes = CountLanes(c, lanes_);
    const size_t good = lanes::Memory().prefix8(reinterpret_cast<const uint8_t*>(operand(c, 0)), 1, lanes);
    if (good < lanes)
      Fail(c, *this, FaultKind::kAssert, "assertion",
           fmt::format("\"{}\" is false in lane {}", message_, good));
  }

 private:
  std::string message_;
  size_t lanes_;
};

// What the compiler was promised: a GPU's program may do anything where it does not hold.
class Assume final : public Instruction {
 public:
  explicit Assume(size_t lanes) : lanes_(lanes) {}
  void Run(Context& c) const override {
    const size_t lanes = CountLanes(c, lanes_);
    if (lanes::Memory().prefix8(reinterpret_cast<const uint8_t*>(operand(c, 0)), 1, lanes) < lanes)
      FailUndefined(c, *this, "what tl.assume promises does not hold");
  }

 private:
  size_t lanes_;
};

// One line an element, as Triton prints it: pid (x, y, z) idx (i, j) prefix: value
class Print final : public Instruction {
 public:
  struct Item {
    Type type;
    bool is_signed;
  };
  Print(std::string prefix, bool hex, std::vector<Item> items)
      : prefix_(std::move(prefix)), hex_(hex), items_(std::move(items)) {}

  void Run(Context& c) const override {
    const std::string program = fmt::format("pid ({}, {}, {})", c.id[0], c.id[1], c.id[2]);
    if (items_.empty()) c.launch->Print(fmt::format("{}{}\n", program, prefix_));
    for (size_t i = 0; i < items_.size(); ++i) {
      const size_t lanes = items_[i].type.numel();
      for (size_t lane = 0; lane < lanes && c.launch->PrintsMore(); ++lane) {
        const std::string where =
            items_[i].type.is_tensor() ? fmt::format(" idx ({})", Index(items_[i].type, lane)) : "";
        const std::string which = items_.size() > 1 ? fmt::format(" (operand {})", i) : "";
        c.launch->Print(fmt::format("{}{}{}{}{}\n", program, where, prefix_, which,
                                    Value(operand(c, static_cast<int>(i)), items_[i], lane)));
      }
    }
  }

 private:
  static std::string Index(const Type& type, size_t lane) {
    std::vector<int64_t> index(type.shape.size());
    for (size_t i = type.shape.size(); i-- > 0; lane /= type.shape[i])
      index[i] = static_cast<int64_t>(lane % type.shape[i]);
    return fmt::format("{}", fmt::join(index, ", "));
  }

  std::string Value(const std::byte* tile, const Item& item, size_t lane) const {
    const int bytes = ElemBytes(item.type.elem);
    uint64_t bits = 0;
    std::memcpy(&bits, tile + lane * bytes, bytes);
    if (hex_ || item.type.elem == Elem::kPtr) return fmt::format("0x{:0{}x}", bits, bytes * 2);
    switch (item.type.elem) {
      case Elem::kF64:
        return fmt::format("{}", LoadAs<double>(tile + lane * 8));
      case Elem::kF32:
        return fmt::format("{}", LoadAs<float>(tile + lane * 4));
      case Elem::kF16:
        return fmt::format("{}", lanes::HalfToFloat(static_cast<uint16_t>(bits)));
      case Elem::kBF16:
        return fmt::format("{}", lanes::BFloatToFloat(static_cast<uint16_t>(bits)));
      case Elem::kF8E4M3:
        return fmt::format("{}", lanes::E4M3ToFloat(static_cast<uint8_t>(bits)));
      case Elem::kF8E5M2:
        return fmt::format("{}", lanes::E5M2ToFloat(static_cast<uint8_t>(bits)));
      default:
        return item.is_signed ? fmt::format("{}", LoadSigned(tile + lane * bytes, bytes))
                              : fmt::format("{}", bits);
    }
  }

  std::string prefix_;
  bool hex_;
  std::vector<Item> items_;
};

void LowerGather(Lowering& lowering, const Operation& op) {
  const Type &source = lowering.TypeOf(op.operands[0]), &index = lowering.TypeOf(op.operands[1]);
  const size_t axis = static_cast<size_t>(op.Attr<int64_t>("axis"));
  size_t outer = 1, inner = 1;
  for (size_t i = 0; i < index.shape.size(); ++i) {
    if (i < axis) outer *= index.shape[i];
    if (i > axis) inner *= index.shape[i];
  }
  const Register from = lowering.Full(op.operands[0]), indices = lowering.Full(op.operands[1]);
  const Register result = lowering.NewTile(source.elem, index.numel());
  lowering.Emit<Gather>({result}, {from, indices}, {}, ElemBytes(source.elem), ElemBytes(index.elem), outer,
                        static_cast<size_t>(source.shape[axis]), static_cast<size_t>(index.shape[axis]),
                        inner);
  lowering.Define(op.results[0], {result, index.numel() == 1});
}

void LowerHistogram(Lowering& lowering, const Operation& op) {
  const Type &values = lowering.TypeOf(op.operands[0]), &bins = lowering.TypeOf(op.results[0]);
  std::vector<Register> operands{lowering.Full(op.operands[0])};
  if (op.operands.size() > 1) operands.push_back(lowering.Use(op.operands[1]).reg);
  const Register result = lowering.NewTile(bins.elem, bins.numel());
  lowering.Emit<Histogram>({result}, operands, {}, ElemBytes(values.elem), values.numel(),
                           ElemBytes(bins.elem), bins.numel(), LayoutOf(lowering, op, 1));
  lowering.Define(op.results[0], {result, bins.numel() == 1});
}

void LowerPrint(Lowering& lowering, const Operation& op) {
  std::vector<Register> operands;
  std::vector<Print::Item> items;
  const auto is_signed = op.Attr<std::vector<int64_t>>("isSigned");
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Type& type = lowering.TypeOf(op.operands[i]);
    if (type.elem == Elem::kDesc) lowering.Unsupported(op, "printing a tensor descriptor");
    operands.push_back(lowering.Full(op.operands[i]));
    items.push_back({type, i < is_signed.size() && is_signed[i] != 0});
  }
  lowering.Emit<Print>({}, operands, {}, op.Attr<std::string>("prefix"), op.Attr<bool>("hex"), items);
}

}  // namespace

bool LowerAssert(Lowering& lowering, const Operation& op) {
  if (op.code != OpCode::kAssert && op.code != OpCode::kAssume) return false;
  const Operand condition = lowering.Use(op.operands[0]);
  const size_t lanes = condition.uniform ? 1 : lowering.LanesOf(lowering.TypeOf(op.operands[0]));
  if (op.code == OpCode::kAssume) {
    lowering.Emit<Assume>({}, {condition.reg}, {}, lanes);
  } else {
    lowering.Emit<Assert>({}, {condition.reg}, {}, op.Attr<std::string>("message"), lanes);
  }
  return true;
}

// Of PTX only what Triton writes for programmatic dependent launch (gdc_wait, gdc_launch_dependents):
// launches come one after the other here, so that there is nothing to wait for. Their results are dummies.
void LowerAssembly(Lowering& lowering, const Operation& op) {
  const std::string& text = op.Attr<std::string>("asm_string");
  const bool is_dependent_launch =
      text == "griddepcontrol.wait; // dummy $0" || text == "griddepcontrol.launch_dependents; // dummy $0";
  if (!is_dependent_launch || !op.operands.empty() || op.results.size() != 1 ||
      lowering.TypeOf(op.results[0]).elem != Elem::kI32) {
    lowering.Unsupported(op, "inline assembly is not accepted");
  }
  const int32_t dummy = 0;
  lowering.Define(op.results[0], {lowering.Constant(&dummy, sizeof dummy), /*uniform=*/true});
}

bool LowerMisc(Lowering& lowering, const Operation& op) {
  switch (op.code) {
    case OpCode::kProgramId:
    case OpCode::kNumPrograms: {
      const Register result = lowering.NewTile(Elem::kI32, 1);
      lowering.Emit<ProgramId>({result}, {}, {}, static_cast<int>(op.Attr<int64_t>("axis")),
                               op.code == OpCode::kNumPrograms);
      lowering.Define(op.results[0], {result, true});
      return true;
    }
    case OpCode::kGather:
      return LowerGather(lowering, op), true;
    case OpCode::kHistogram:
      return LowerHistogram(lowering, op), true;
    case OpCode::kPrint:
      return LowerPrint(lowering, op), true;
    case OpCode::kInlineAsm:
      return LowerAssembly(lowering, op), true;
    default:
      return false;
  }
}

}  // namespace tritogen::tile
