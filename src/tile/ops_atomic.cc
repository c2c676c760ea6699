// tt.atomic_rmw and tt.atomic_cas. Lanes take effect one after another; each returns the value it found. An
// atomic on one element orders programs as its "sem" says; tiles of atomics only change data, and so does
// what is atomic within a program ("cta") only.
#include <algorithm>
#include <numeric>
#include <type_traits>

#include "base/splitmix.h"
#include "tile/machine.h"
#include "tile/tile_operands.h"

namespace tritogen::tile {
namespace {

template <class T, class F>
void RmwLoop(std::byte* data, const std::byte* values, std::byte* old, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const T before = LoadAs<T>(data + i * sizeof(T));
    StoreAs<T>(old + i * sizeof(T), before);
    StoreAs<T>(data + i * sizeof(T), F()(before, LoadAs<T>(values + i * sizeof(T))));
  }
}

struct And {
  template <class T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};
struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct Exchange {
  template <class T>
  T operator()(T, T b) const {
    return b;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return std::max(a, b);
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return std::min(a, b);
  }
};
template <class F>
struct InHalf {
  uint16_t operator()(uint16_t a, uint16_t b) const {
    return lanes::FloatToHalf(F()(lanes::HalfToFloat(a), lanes::HalfToFloat(b)));
  }
};
template <class F>
struct InBFloat {
  uint16_t operator()(uint16_t a, uint16_t b) const {
    return lanes::FloatToBFloat(F()(lanes::BFloatToFloat(a), lanes::BFloatToFloat(b)));
  }
};

template <class U>
Rmw FindIntegerRmw(std::string_view kind) {
  using S = std::make_signed_t<U>;
  if (kind == "and") return &RmwLoop<U, And>;
  if (kind == "or") return &RmwLoop<U, Or>;
  if (kind == "xor") return &RmwLoop<U, Xor>;
  if (kind == "add") return &RmwLoop<U, Add>;
  if (kind == "exch") return &RmwLoop<U, Exchange>;
  if (kind == "max") return &RmwLoop<S, Max>;
  if (kind == "min") return &RmwLoop<S, Min>;
  if (kind == "umax") return &RmwLoop<U, Max>;
  if (kind == "umin") return &RmwLoop<U, Min>;
  return nullptr;
}

template <class F>
Rmw FindFloatRmw(Elem elem) {
  switch (elem) {
    case Elem::kF64:
      return &RmwLoop<double, F>;
    case Elem::kF32:
      return &RmwLoop<float, F>;
    case Elem::kF16:
      return &RmwLoop<uint16_t, InHalf<F>>;
    case Elem::kBF16:
      return &RmwLoop<uint16_t, InBFloat<F>>;
    default:
      return nullptr;
  }
}

bool IsInCta(const Operation& op) {
  return op.Attr<std::string>("scope") == "cta";
}

// What both atomics share: sem, lanes, and the bookkeeping of programs that wait.
class Atomic : public Instruction {
 protected:
  // `one_wins`: which lane comes last or first decides what stays in memory.
  Atomic(const Operation& op, int size, size_t lanes, bool one_wins)
      : in_cta_(IsInCta(op)), one_wins_(one_wins), size_(size), lanes_(lanes) {
    const std::string sem = op.Attr<std::string>("sem");
    const bool orders = lanes == 1 && !in_cta_;
    acquires_ = orders && (sem == "acquire" || sem == "acq_rel");
    releases_ = orders && (sem == "release" || sem == "acq_rel");
    memory = MemoryUse::kAtomic;
    access_bytes = size;
  }

  template <class Change>
  void Apply(Context& c, const uint8_t* mask, Change&& change) const {
    const auto* pointers = reinterpret_cast<const uint64_t*>(operand(c, 0));
    const bool watched = lanes_ == 1 || c.launch->kernel().spins;
    size_t first = 0;  // lane that the access begins with
    const LaunchMemory::AtomicBody body = [&](std::byte* data, size_t i, size_t count) {
      const size_t lane = first + i;
      std::byte* old = result(c) + lane * size_;
      if (acquires_) AcquireAt(c, pointers[0]);
      change(data, lane, count, old);
      // An update that changes nothing tells nobody anything.
      if (!watched || std::memcmp(data, old, count * size_) == 0) return;
      c.launch->NoteChange();
      if (releases_) ReleaseAt(c, pointers[0]);
    };
    using Kind = LaunchMemory::AtomicKind;
    const Kind kind = in_cta_ ? Kind::kChangeInCta : Kind::kChange;
    LaunchMemory& memory = c.launch->memory();
    if (!OrderShows(c, pointers)) return memory.Atomic(c, *this, kind, pointers, mask, size_, lanes_, body);
    for (uint32_t lane : DrawOrder(c)) {
      if (mask != nullptr && mask[lane] == 0) continue;
      first = lane;
      memory.Atomic(c, *this, kind, pointers + lane, nullptr, size_, 1, body);
    }
  }

  // The result of a scalar goes from one thread to all, which takes a barrier; where nobody reads it there is
  // none.
  void ShareResult(Context& c) const {
    if (lanes_ == 1 && result_read) c.launch->MeetLanes(c);
  }

  // May the program see in which order its lanes took effect? Neighbours have no address in common.
  bool OrderShows(const Context& c, const uint64_t* pointers) const {
    if (lanes_ == 1 || c.launch->options().like_a_gpu || !(one_wins_ || result_read)) return false;
    return lanes::Memory().run(pointers, static_cast<uint64_t>(size_), lanes_) < lanes_;
  }

  // A GPU promises no order: it is the seed's, and another one in each program.
  std::vector<uint32_t> DrawOrder(const Context& c) const {
    std::vector<uint32_t> order(lanes_);
    std::iota(order.begin(), order.end(), 0);
    SplitMix random(SplitMix::At(c.launch->options().order_seed, c.program));
    for (size_t i = lanes_; i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
    return order;
  }

  bool in_cta_, one_wins_;
  bool acquires_, releases_;
  int size_;
  size_t lanes_;
};

// Operands: pointers, values, [mask].
class AtomicRmw final : public Atomic {
 public:
  AtomicRmw(Rmw rmw, const Operation& op, Elem elem, Layout mask, size_t lanes)
      : Atomic(op, ElemBytes(elem), lanes, op.Attr<std::string>("kind") == "exch"),
        rmw_(rmw),
        undefined_(UndefinedBits(elem)),
        mask_(mask) {}

  void Run(Context& c) const override {
    const ActiveLanes active = FindActive(mask_, mask_ == Layout::kNone ? nullptr : operand(c, 2), lanes_);
    if (!active.any || active.mask != nullptr) {
      const uint64_t undefined = c.launch->options().like_a_gpu ? 0 : undefined_;
      lanes::Memory().fill(&undefined, size_, result(c), lanes_);
    }
    if (active.any) {
      Apply(c, active.mask, [&](std::byte* data, size_t lane, size_t count, std::byte* old) {
        rmw_(data, operand(c, 1) + lane * size_, old, count);
      });
    }
    ShareResult(c);
  }

 private:
  Rmw rmw_;
  uint64_t undefined_;
  Layout mask_;
};

// Operands: pointers, compare, values.
class AtomicCas final : public Atomic {
 public:
  AtomicCas(const Operation& op, Elem elem, size_t lanes) : Atomic(op, ElemBytes(elem), lanes, true) {}

  void Run(Context& c) const override {
    Apply(c, nullptr, [&](std::byte* data, size_t lane, size_t count, std::byte* old) {
      std::memcpy(old, data, count * size_);
      for (size_t i = 0; i < count; ++i) {
        const size_t at = (lane + i) * size_;
        if (std::memcmp(old + i * size_, operand(c, 1) + at, size_) == 0)
          std::memcpy(data + i * size_, operand(c, 2) + at, size_);
      }
    });
    ShareResult(c);
  }
};

}  // namespace

Rmw FindRmw(std::string_view kind, Elem elem) {
  if (IsFloat(elem) && kind != "exch") {
    if (kind == "fadd") return FindFloatRmw<Add>(elem);
    if (kind == "fmax") return FindFloatRmw<Max>(elem);
    if (kind == "fmin") return FindFloatRmw<Min>(elem);
    return nullptr;
  }
  switch (ElemBytes(elem)) {
    case 1:
      return elem == Elem::kI1 ? nullptr : FindIntegerRmw<uint8_t>(kind);
    case 2:
      return FindIntegerRmw<uint16_t>(kind);
    case 4:
      return FindIntegerRmw<uint32_t>(kind);
    default:
      return FindIntegerRmw<uint64_t>(kind);
  }
}

bool LowerAtomic(Lowering& lowering, const Operation& op) {
  if (op.code != OpCode::kAtomicRmw && op.code != OpCode::kAtomicCas) return false;
  const Type& type = lowering.TypeOf(op.results[0]);
  const size_t lanes = type.numel();
  const size_t tiles = op.code == OpCode::kAtomicCas ? 3 : 2;
  std::vector<Register> operands;
  for (size_t i = 0; i < tiles; ++i) operands.push_back(lowering.Full(op.operands[i]));
  const Register result = lowering.NewTile(type.elem, lanes);
  if (op.code == OpCode::kAtomicCas) {
    Instruction& cas = lowering.Emit<AtomicCas>({result}, operands, {}, op, type.elem, lanes);
    if (lanes > 1) cas.first_lane = FirstLane(type, false);
  } else {
    const std::string kind = op.Attr<std::string>("kind");
    const Rmw rmw = FindRmw(kind, type.elem);
    if (rmw == nullptr) lowering.Unsupported(op, fmt::format("kind {} of {}", kind, TypeName(type)));
    const Layout mask = LayoutOf(lowering, op, 2);
    if (mask != Layout::kNone) operands.push_back(lowering.Use(op.operands[2]).reg);
    Instruction& rmw_of_lanes =
        lowering.Emit<AtomicRmw>({result}, operands, {}, rmw, op, type.elem, mask, lanes);
    if (lanes > 1) rmw_of_lanes.first_lane = FirstLane(type, false);
  }
  lowering.executable().synchronises |= lanes == 1 && !IsInCta(op);
  lowering.Define(op.results[0], {result, lanes == 1});
  return true;
}

}  // namespace tritogen::tile
