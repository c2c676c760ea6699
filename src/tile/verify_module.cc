#include "tile/verify_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "tile/control_flow.h"
#include "tile/op_traits.h"
#include "tile/tile.h"

namespace tritogen::tile {
namespace {

constexpr int kMaxCallDepth = 64;
constexpr int64_t kMaxExpandedOperations = int64_t{1} << 20;

[[noreturn]] void Fail(const Operation& op, const std::string& message, bool unsupported = false) {
  throw TtirError(op.ttir_line, fmt::format("{}: {}", OpName(op.code), message), unsupported);
}

std::vector<Type> TypesOf(const Function& function, const std::vector<ValueId>& values, size_t first = 0) {
  std::vector<Type> types;
  for (size_t i = first; i < values.size(); ++i) types.push_back(function.values[values[i]]);
  return types;
}

// What a function calls, once per call, by index in the module.
struct Callees {
  std::vector<int> all;
  std::vector<int> in_combine;  // those in regions of reductions, scans and maps
};

// Combine regions, and functions that they call, run once per element: scalars and nothing that touches
// memory.
void VerifyInCombine(const Function& function, const Operation& op) {
  using enum OpCode;
  auto is_tensor = [&](ValueId value) { return !function.values[value].shape.empty(); };
  const bool memory = (op.code >= kAddPtr && op.code <= kDescScatter) || op.code == kPrint;
  const bool tensors =
      std::ranges::any_of(op.operands, is_tensor) || std::ranges::any_of(op.results, is_tensor);
  if (memory || tensors || IsGenericForm(op.code))
    Fail(op, "not supported inside of a reduction, scan or map", true);
}

class FunctionVerifier {
 public:
  FunctionVerifier(const Module& module, const std::unordered_map<std::string_view, int>& index,
                   const Function& function)
      : module_(module), index_(index), function_(function) {}

  // Returns the number of operations.
  int64_t Verify(Callees& callees) {
    callees_ = &callees;
    for (const Block& block : function_.body.blocks) VerifyBlock(block, nullptr);
    VerifyControlFlow();
    return operations_;
  }

 private:
  const Type& TypeOf(ValueId value) const { return function_.values[value]; }

  void VerifyBlock(const Block& block, const Operation* parent) {
    if (block.operations.empty() || !IsTerminator(block.operations.back().code)) {
      int line = parent != nullptr ? parent->ttir_line : function_.ttir_line;
      throw TtirError(line, "a block does not end in a terminator");
    }
    for (const Operation& op : block.operations) {
      ++operations_;
      if (IsTerminator(op.code)) {
        if (&op != &block.operations.back()) Fail(op, "in the middle of a block");
        VerifyTerminator(op, parent);
      } else {
        VerifyOperation(function_, op);
        if (op.code == OpCode::kCall) VerifyCall(op);
        VerifyRegions(op);
      }
      if (combine_depth_ > 0) VerifyInCombine(function_, op);
    }
  }

  void VerifyRegions(const Operation& op) {
    const bool combine = IsGenericForm(op.code);
    combine_depth_ += combine;
    for (size_t i = 0; i < op.regions.size(); ++i) {
      const Region& region = op.regions[i];
      const bool may_lack = op.code == OpCode::kIf && i == 1 && op.results.empty();
      if (region.blocks.empty() && may_lack) continue;
      if (region.blocks.empty()) Fail(op, "needs an else branch for its results");
      if (region.blocks.size() > 1 && op.code != OpCode::kMapElementwise)
        Fail(op, "branches inside of operations are not supported", true);
      if (TypesOf(function_, region.blocks.front().arguments) != EntryTypes(op, i))
        Fail(op, "a region has wrong arguments");
      for (const Block& block : region.blocks) VerifyBlock(block, &op);
      if (region.blocks.size() > 1) branched_.push_back(&region);
    }
    combine_depth_ -= combine;
  }

  std::vector<Type> EntryTypes(const Operation& op, size_t region) const {
    switch (op.code) {
      case OpCode::kFor:
        return TypesOf(function_, op.operands, 2);  // step has the variable's type
      case OpCode::kWhile:
        return region == 0 ? TypesOf(function_, op.operands) : TypesOf(function_, op.results);
      case OpCode::kReduce:
      case OpCode::kScan: {
        std::vector<Type> types = Elements(op.operands, 1);
        std::vector<Type> both = types;
        both.insert(both.end(), types.begin(), types.end());
        return both;
      }
      case OpCode::kMapElementwise:
        return Elements(op.operands, op.Attr<int64_t>("pack", 1));
      default:
        return {};
    }
  }

  // Element types of tensors, each `copies` times.
  std::vector<Type> Elements(const std::vector<ValueId>& tensors, int64_t copies) const {
    std::vector<Type> types;
    for (ValueId tensor : tensors) types.insert(types.end(), copies, Type{.elem = TypeOf(tensor).elem});
    return types;
  }

  void VerifyTerminator(const Operation& op, const Operation* parent) {
    const std::vector<Type> given = TypesOf(function_, op.operands);
    switch (op.code) {
      case OpCode::kReturn:
        return Expect(op, parent == nullptr, given, function_.results);
      case OpCode::kBr:
        return Expect(op, MayBranch(parent), given, {});
      case OpCode::kCondBr:
        return Expect(op, MayBranch(parent), given, {Type{.elem = Elem::kI1}});
      case OpCode::kCondition: {
        if (!IsRegion(op, parent, OpCode::kWhile, 0)) Fail(op, "in a wrong place");
        std::vector<Type> wanted = TypesOf(function_, parent->results);
        wanted.insert(wanted.begin(), Type{.elem = Elem::kI1});
        return Expect(op, true, given, wanted);
      }
      case OpCode::kYield:
        return VerifyYield(op, parent, given);
      case OpCode::kReduceReturn:
        return Expect(op, IsRegion(op, parent, OpCode::kReduce, 0), given,
                      parent ? Elements(parent->operands, 1) : given);
      case OpCode::kScanReturn:
        return Expect(op, IsRegion(op, parent, OpCode::kScan, 0), given,
                      parent ? Elements(parent->operands, 1) : given);
      default:
        return Expect(op, parent != nullptr && parent->code == OpCode::kMapElementwise, given,
                      parent ? Elements(parent->results, parent->Attr<int64_t>("pack", 1)) : given);
    }
  }

  // May blocks in a region of `parent`, or of the body, end in branches?
  static bool MayBranch(const Operation* parent) {
    return parent == nullptr || parent->code == OpCode::kMapElementwise;
  }

  void VerifyYield(const Operation& op, const Operation* parent, const std::vector<Type>& given) const {
    const bool in_for = IsRegion(op, parent, OpCode::kFor, 0);
    const bool in_if = IsRegion(op, parent, OpCode::kIf, 0) || IsRegion(op, parent, OpCode::kIf, 1);
    if (IsRegion(op, parent, OpCode::kWhile, 1))
      return Expect(op, true, given, TypesOf(function_, parent->operands));
    Expect(op, in_for || in_if, given, in_for || in_if ? TypesOf(function_, parent->results) : given);
  }

  // Does `op` end region `region` of `parent`, an operation `code`?
  static bool IsRegion(const Operation& op, const Operation* parent, OpCode code, size_t region) {
    return parent != nullptr && parent->code == code && !parent->regions[region].blocks.empty() &&
           &parent->regions[region].blocks.front().operations.back() == &op;
  }

  static void Expect(const Operation& op, bool place_fits, const std::vector<Type>& given,
                     const std::vector<Type>& wanted) {
    if (!place_fits) Fail(op, "in a wrong place");
    if (given.size() != wanted.size())
      Fail(op, fmt::format("passes {} values, not {}", given.size(), wanted.size()));
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i] != wanted[i])
        Fail(op, fmt::format("passes {} for {}", TypeName(given[i]), TypeName(wanted[i])));
    }
  }

  void VerifyCall(const Operation& op) {
    const std::string callee = op.Attr<std::string>("callee");
    auto it = index_.find(callee);
    if (it == index_.end()) Fail(op, fmt::format("@{} does not exist", callee));
    const Function& function = module_.functions[it->second];
    Expect(op, true, TypesOf(function_, op.operands), TypesOf(function, function.parameters));
    if (TypesOf(function_, op.results) != function.results)
      Fail(op, fmt::format("other results than @{} has", callee));
    callees_->all.push_back(it->second);
    if (combine_depth_ > 0) callees_->in_combine.push_back(it->second);
  }

  void VerifyControlFlow() {
    if (function_.body.blocks.size() == 1 && branched_.empty()) return;
    std::vector<int> home(function_.values.size(), kDropped);
    VerifyBranches(function_.body, home);
    // Values from outside of a region are as good as those of its first block; where they come from is
    // checked.
    std::fill(home.begin(), home.end(), 0);
    for (const Region* region : branched_) VerifyBranches(*region, home);
  }

  // Branches pass what their target takes, and blocks dominate the uses of what they define. `home`: the
  // block of `body` that defines a value, at any depth; filled in here for what is defined in it.
  void VerifyBranches(const Region& body, std::vector<int>& home) const {
    for (const Block& block : body.blocks) {
      const Operation& last = block.operations.back();
      for (const Successor& successor : last.successors) {
        const Block& target = body.blocks[successor.block];
        Expect(last, true, TypesOf(function_, successor.arguments), TypesOf(function_, target.arguments));
      }
    }
    Dominance dominance(body);
    const int count = static_cast<int>(body.blocks.size());
    for (int i = 0; i < count; ++i) MarkDefinitions(body.blocks[i], i, home);
    for (int i = 0; i < count; ++i) CheckUses(body.blocks[i], i, home, dominance);
  }

  void MarkDefinitions(const Block& block, int number, std::vector<int>& home) const {
    for (ValueId value : block.arguments) home[value] = number;
    for (const Operation& op : block.operations) {
      for (ValueId value : op.results) home[value] = number;
      for (const Region& region : op.regions) {
        for (const Block& inner : region.blocks) MarkDefinitions(inner, number, home);
      }
    }
  }

  void CheckUses(const Block& block, int number, const std::vector<int>& home,
                 const Dominance& dominance) const {
    auto check = [&](const Operation& op, ValueId value) {
      if (home[value] == kDropped || !dominance.Dominates(home[value], number))
        Fail(op, "uses a value of a block that may not have run");
    };
    for (const Operation& op : block.operations) {
      for (ValueId value : op.operands) check(op, value);
      for (const Successor& successor : op.successors) {
        for (ValueId value : successor.arguments) check(op, value);
      }
      for (const Region& region : op.regions) {
        for (const Block& inner : region.blocks) CheckUses(inner, number, home, dominance);
      }
    }
  }

  const Module& module_;
  const std::unordered_map<std::string_view, int>& index_;
  const Function& function_;
  static constexpr int kDropped = -1;  // defined in a block that nothing reaches

  Callees* callees_ = nullptr;
  std::vector<const Region*> branched_;  // regions of several blocks
  int64_t operations_ = 0;
  int combine_depth_ = 0;
};

// Calls form no cycle, do not nest deeply, and stay small when expanded.
class CallVerifier {
 public:
  CallVerifier(const Module& module, const std::vector<Callees>& callees, std::vector<int64_t> sizes)
      : module_(module), callees_(callees), sizes_(std::move(sizes)), states_(sizes_.size(), State::kNew) {}

  void Verify() {
    for (size_t i = 0; i < sizes_.size(); ++i) Visit(static_cast<int>(i), 0);
  }

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };

  void Visit(int index, int depth) {
    if (states_[index] == State::kDone) return;
    if (states_[index] == State::kOpen) Fail(index, "calls itself");
    if (depth > kMaxCallDepth) Fail(index, "is called through too many functions");
    states_[index] = State::kOpen;
    for (int callee : callees_[index].all) {
      Visit(callee, depth + 1);
      sizes_[index] += sizes_[callee];
      if (sizes_[index] > kMaxExpandedOperations)
        Fail(index, "has more than 2^20 operations when its calls are expanded");
    }
    states_[index] = State::kDone;
  }

  [[noreturn]] void Fail(int index, std::string_view message) const {
    const Function& function = module_.functions[index];
    throw TtirError(function.ttir_line, fmt::format("@{} {}", function.name, message), true);
  }

  const Module& module_;
  const std::vector<Callees>& callees_;
  std::vector<int64_t> sizes_;  // operations, calls expanded once a function is done
  std::vector<State> states_;
};

// Functions that combine regions call, and those that they call, obey the rules of the regions.
class CombineVerifier {
 public:
  CombineVerifier(const Module& module, const std::vector<Callees>& callees)
      : module_(module), callees_(callees), seen_(callees.size(), false) {}

  void Verify() {
    for (const Callees& callees : callees_) Visit(callees.in_combine);
  }

 private:
  void Visit(const std::vector<int>& functions) {
    for (int index : functions) {
      if (seen_[index]) continue;
      seen_[index] = true;
      VerifyRegion(module_.functions[index], module_.functions[index].body);
      Visit(callees_[index].all);
    }
  }

  static void VerifyRegion(const Function& function, const Region& region) {
    for (const Block& block : region.blocks) {
      for (const Operation& op : block.operations) {
        VerifyInCombine(function, op);
        for (const Region& inner : op.regions) VerifyRegion(function, inner);
      }
    }
  }

  const Module& module_;
  const std::vector<Callees>& callees_;
  std::vector<bool> seen_;
};

// A kernel takes scalars, pointers and host descriptors, which bring their shape and strides; it returns
// nothing.
void VerifyKernel(const Function& kernel) {
  auto fail = [&](const std::string& message) {
    throw TtirError(kernel.ttir_line, fmt::format("@{}: {}", kernel.name, message));
  };
  if (!kernel.results.empty()) fail("a kernel returns nothing");
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Type& type = kernel.values[kernel.parameters[i]];
    if (type.is_tensor()) fail("a kernel takes no tensors");
    if (type.elem != Elem::kDesc) continue;
    const size_t rank = type.shape.size();
    for (size_t k = 1; k <= 2 * rank; ++k) {
      const Type wanted{.elem = k <= rank ? Elem::kI32 : Elem::kI64};
      if (i + k >= kernel.parameters.size() || kernel.values[kernel.parameters[i + k]] != wanted) {
        fail("the shape (i32) and strides (i64) of a descriptor must follow it");
      }
    }
  }
}

}  // namespace

void VerifyModule(const Module& module) {
  std::unordered_map<std::string_view, int> index;
  int kernels = 0;
  for (size_t i = 0; i < module.functions.size(); ++i) {
    const Function& function = module.functions[i];
    if (!index.emplace(function.name, static_cast<int>(i)).second) {
      throw TtirError(function.ttir_line, fmt::format("@{} is defined twice", function.name));
    }
    if (!function.is_public) continue;
    if (++kernels > 1)
      throw TtirError(function.ttir_line, fmt::format("@{} is a second kernel", function.name));
    VerifyKernel(function);
  }
  if (kernels == 0) throw TtirError(1, "the module has no kernel");
  std::vector<Callees> callees(module.functions.size());
  std::vector<int64_t> sizes(module.functions.size());
  for (size_t i = 0; i < module.functions.size(); ++i) {
    sizes[i] = FunctionVerifier(module, index, module.functions[i]).Verify(callees[i]);
  }
  CallVerifier(module, callees, std::move(sizes)).Verify();
  CombineVerifier(module, callees).Verify();
}

}  // namespace tritogen::tile
