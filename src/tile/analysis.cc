// What can be known of a kernel before it runs.
#include <algorithm>
#include <span>

#include "tile/dataflow.h"
#include "tile/lower.h"

namespace tritogen::tile {
namespace {

// Greatest fixed point: every value is taken for uniform until an operation says otherwise.
class UniformAnalysis {
 public:
  explicit UniformAnalysis(const Function& function)
      : function_(function), uniform_(function.values.size(), true) {
    for (ValueId parameter : function.parameters) Assign(parameter, false);
  }

  std::vector<bool> Run() {
    changed_ = true;
    for (int pass = 0; changed_; ++pass) {
      if (pass == kMaxPasses) return std::vector<bool>(uniform_.size(), false);  // always safe
      changed_ = false;
      ForEachOperation(function_.body, [&](const Operation& op) { Visit(op); });
    }
    return std::move(uniform_);
  }

 private:
  // Scalars and one-element tensors always are.
  void Assign(ValueId value, bool uniform) {
    if (uniform || !uniform_[value] || function_.values[value].numel() == 1) return;
    uniform_[value] = false;
    changed_ = true;
  }

  void Visit(const Operation& op) {
    const auto flow = [this](ValueId from, ValueId to) { Assign(to, uniform_[from]); };
    if (FlowThroughControl(function_, op, flow)) return;
    switch (op.code) {
      case OpCode::kConstant:
        return Assign(op.results[0], op.Attr<ConstantBits>("value").bits.size() == 1);
      case OpCode::kPoison:
      case OpCode::kSplat:
      case OpCode::kSelect:
      case OpCode::kCmpI:
      case OpCode::kCmpF:
      case OpCode::kExtern:
      case OpCode::kExpandDims:
      case OpCode::kReshape:
      case OpCode::kBroadcast:
      case OpCode::kTrans:
      case OpCode::kAddPtr:
        return Elementwise(op);
      default:
        if (TraitsOf(op.code).family != OpFamily::kOther) return Elementwise(op);
        for (ValueId result : op.results) Assign(result, false);
    }
  }
  void Elementwise(const Operation& op) {
    const bool uniform =
        std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId v) { return uniform_[v]; });
    Assign(op.results[0], uniform);
  }

  const Function& function_;
  std::vector<bool> uniform_;
  bool changed_ = false;
};

bool IsHalfOrLess(Elem elem) {
  return IsFloat(elem) && ElemBytes(elem) <= 2;
}

// Was the value truncated from f32, looking through operations that only move elements?
bool TruncatedFromFloat(const Function& function, const std::vector<const Operation*>& made_by,
                        ValueId value) {
  for (const Operation* op = made_by[value]; op != nullptr && !op->operands.empty(); op = made_by[value]) {
    value = op->operands[0];
    if (op->code == OpCode::kTruncF || op->code == OpCode::kFpToFp)
      return function.values[value].elem == Elem::kF32;
    const bool moves = op->code == OpCode::kTrans || op->code == OpCode::kReshape ||
                       op->code == OpCode::kBroadcast || op->code == OpCode::kExpandDims;
    if (!moves) return false;
  }
  return false;
}

}  // namespace

std::vector<bool> UniformValues(const Function& function) {
  return UniformAnalysis(function).Run();
}

Features FindFeatures(const Module& module) {
  Features features;
  for (const Function& function : module.functions) {
    std::vector<const Operation*> made_by(function.values.size(), nullptr);
    ForEachOperation(function.body, [&](const Operation& op) {
      for (ValueId result : op.results) made_by[result] = &op;
    });
    ForEachOperation(function.body, [&](const Operation& op) {
      using enum OpCode;
      features.stores |= op.code == kStore || op.code == kAtomicRmw || op.code == kAtomicCas ||
                         op.code == kDescStore || op.code == kDescReduce || op.code == kDescScatter;
      features.inline_assembly |= op.code == kInlineAsm;
      features.has_dot |= op.code == kDot || op.code == kDotScaled;
      if (op.code != kDot) return;
      const Elem a = function.values[op.operands[0]].elem;
      features.tf32_dot |= a == Elem::kF32 && op.Attr<std::string>("inputPrecision") == "tf32";
      features.half_dot_of_float |=
          IsHalfOrLess(a) && (TruncatedFromFloat(function, made_by, op.operands[0]) ||
                              TruncatedFromFloat(function, made_by, op.operands[1]));
    });
  }
  return features;
}

void FindReadResults(Executable& executable, size_t register_count) {
  std::vector<bool> read(register_count, false);
  for (const auto& instruction : executable.code) {
    const auto& used = instruction->registers;
    for (size_t i = instruction->results; i < used.size(); ++i) read[used[i]] = true;
  }
  for (auto& instruction : executable.code) {
    if (instruction->memory == MemoryUse::kNone) continue;
    const auto results = std::span(instruction->registers).first(instruction->results);
    instruction->result_read = std::ranges::any_of(results, [&](Register reg) { return read[reg]; });
  }
}

// Every value that is computed from a pointer carries its parameters with it, whatever the computation;
// values that come from memory carry none. Flow over registers, to a fixed point because of loops.
void FindProvenance(Executable& executable, const std::vector<Register>& parameters, size_t register_count) {
  constexpr uint64_t kAny = uint64_t{1} << 63;
  std::vector<uint64_t> carries(register_count, 0);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Elem elem = executable.parameters[i].elem;
    if (elem == Elem::kPtr || elem == Elem::kDesc) carries[parameters[i]] = i < 63 ? uint64_t{1} << i : kAny;
  }
  bool changed = true;
  for (int pass = 0; changed; ++pass) {
    if (pass == kMaxPasses) std::fill(carries.begin(), carries.end(), kAny);
    changed = false;
    for (auto& instruction : executable.code) {
      if (instruction->memory != MemoryUse::kNone) continue;
      uint64_t all = instruction->makes_pointers ? kAny : 0;
      const auto& used = instruction->registers;
      for (size_t i = instruction->results; i < used.size(); ++i) all |= carries[used[i]];
      for (size_t i = 0; i < used.size(); ++i) {
        const bool written = i < static_cast<size_t>(instruction->results) ||
                             i >= static_cast<size_t>(instruction->results + instruction->operands);
        if (!written || (carries[used[i]] | all) == carries[used[i]]) continue;
        carries[used[i]] |= all;
        changed = true;
      }
    }
  }
  for (auto& instruction : executable.code) {
    if (instruction->memory == MemoryUse::kNone) continue;
    const uint64_t from = carries[instruction->registers[instruction->results]];
    instruction->any_buffer = from == 0 || (from & kAny) != 0;
    for (int i = 0; i < 63; ++i) {
      if (from >> i & 1) instruction->pointer_parameters.push_back(i);
    }
  }
}

}  // namespace tritogen::tile
