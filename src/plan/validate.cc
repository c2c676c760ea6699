#include "plan/validate.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "base/error.h"
#include "base/text.h"
#include "plan/limits.h"
#include "plan/visit.h"

namespace tritogen {
namespace {

namespace limits = plan_limits;

template <typename... Args>
[[noreturn]] void Fail(fmt::format_string<Args...> text, Args&&... args) {
  throw FormatError(fmt::format(text, std::forward<Args>(args)...));
}

// "namespace::name" or "namespace::name.overload".
bool IsOpName(std::string_view op) {
  size_t colons = op.find("::");
  if (colons == std::string_view::npos || !IsIdentifier(op.substr(0, colons))) return false;
  std::string_view name = op.substr(colons + 2);
  size_t dot = name.find('.');
  if (dot == std::string_view::npos) return IsIdentifier(name);
  std::string_view overload = name.substr(dot + 1);
  return IsIdentifier(name.substr(0, dot)) && !overload.empty() &&
         std::all_of(overload.begin(), overload.end(), IsWordByte);
}

// Does the tensor lie inside its storage? All products stay below 2^64 by the limits: checked in 128 bits.
void CheckMeta(const Plan& plan, TensorId id) {
  const TensorMeta& meta = plan.tensors[id];
  if (meta.storage < 0 || static_cast<size_t>(meta.storage) >= plan.storages.size()) {
    Fail("tensors[{}]: no storage {}", id, meta.storage);
  }
  if (meta.sizes.size() != meta.strides.size()) Fail("tensors[{}]: as many strides as sizes are needed", id);
  __int128 numel = 1;
  __int128 last = meta.offset;  // element of the storage that the last index reaches
  bool empty = std::find(meta.sizes.begin(), meta.sizes.end(), 0) != meta.sizes.end();
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    numel *= std::max<int64_t>(meta.sizes[i], 1);
    if (numel > limits::kElements) Fail("tensors[{}]: too many elements", id);
    if (!empty) last += static_cast<__int128>(meta.sizes[i] - 1) * meta.strides[i];
  }
  __int128 needed = (empty ? 0 : last + 1) * static_cast<__int128>(DtypeSize(meta.dtype));
  if (needed > plan.storages[meta.storage]) {
    Fail("tensors[{}]: leaves its storage of {} bytes", id, plan.storages[meta.storage]);
  }
}

bool IsContiguous(const TensorMeta& meta) {
  int64_t stride = 1;
  for (size_t i = meta.sizes.size(); i-- > 0;) {
    if (meta.sizes[i] != 1 && meta.strides[i] != stride) return false;
    stride *= std::max<int64_t>(meta.sizes[i], 1);
  }
  return true;
}

// Checks one phase after the other and keeps which tensors have a value by then.
class Checker {
 public:
  explicit Checker(const Plan& plan)
      : plan_(plan), defined_(plan.tensors.size(), false), made_(plan.tensors.size(), false) {}

  void Define(const std::vector<Value>& leaves, const char* where) {
    ForEachTensor(leaves, [&](TensorId id) {
      CheckId(id, where);
      defined_[id] = made_[id] = true;
    });
  }

  // What `generate` makes reaches the program through its arguments only.
  void HideAll() { defined_.assign(defined_.size(), false); }

  void RequireDefined(TensorId id, const std::string& where) const {
    CheckId(id, where);
    if (!defined_[id]) Fail("{}: tensor {} has no value here", where, id);
  }

  void CheckSteps(const std::vector<Step>& steps, const char* phase) {
    for (size_t i = 0; i < steps.size(); ++i) {
      std::string where = fmt::format("{}[{}]", phase, i);
      ForEachUse(steps[i], [&](TensorId id) { RequireDefined(id, where); });
      if (const auto* aten = std::get_if<AtenStep>(&steps[i])) CheckAten(*aten, steps[i], where);
      if (const auto* constant = std::get_if<ConstantStep>(&steps[i])) CheckConstant(*constant, where);
      if (const auto* launch = std::get_if<LaunchStep>(&steps[i])) CheckLaunch(*launch, where);
    }
  }

 private:
  void CheckId(TensorId id, std::string_view where) const {
    if (id < 0 || static_cast<size_t>(id) >= plan_.tensors.size()) Fail("{}: no tensor {}", where, id);
  }

  // A result is a new tensor, or one of the arguments written in place.
  void CheckAten(const AtenStep& aten, const Step& step, const std::string& where) {
    if (!IsOpName(aten.op)) Fail("{}: malformed operator name", where);
    std::unordered_set<TensorId> used;
    ForEachUse(step, [&](TensorId id) { used.insert(id); });
    for (TensorId id : aten.outs) {
      if (id != kNoTensor && !used.count(id)) Make(id, where);
    }
  }

  void Make(TensorId id, const std::string& where) {
    CheckId(id, where);
    if (made_[id]) Fail("{}: tensor {} already has a value", where, id);
    defined_[id] = made_[id] = true;
  }

  void CheckConstant(const ConstantStep& step, const std::string& where) {
    Make(step.out, where);
    const TensorMeta& meta = plan_.tensors[step.out];
    if (!IsContiguous(meta) || meta.offset != 0) Fail("{}: a constant is contiguous", where);
    if (static_cast<__int128>(meta.numel()) * DtypeSize(meta.dtype) != step.data.size()) {
      Fail("{}: {} bytes do not fill the tensor", where, step.data.size());
    }
    bool bits = std::all_of(step.data.begin(), step.data.end(), [](uint8_t byte) { return byte <= 1; });
    if (meta.dtype == Dtype::kBool && !bits) Fail("{}: a bool is 0 or 1", where);
  }

  void CheckLaunch(const LaunchStep& step, const std::string& where) const {
    if (step.variants.empty()) Fail("{}: a launch needs a variant", where);
    for (const LaunchVariant& variant : step.variants) {
      if (variant.kernel < 0 || static_cast<size_t>(variant.kernel) >= plan_.kernels.size()) {
        Fail("{}: no kernel {}", where, variant.kernel);
      }
      __int128 programs = static_cast<__int128>(variant.grid[0]) * variant.grid[1] * variant.grid[2];
      if (programs > limits::kPrograms) Fail("{}: the grid is too large", where);
      for (const KernelArg& arg : variant.args) CheckKernelArg(arg, where);
    }
  }

  void CheckKernelArg(const KernelArg& arg, const std::string& where) const {
    if (const auto* pointer = std::get_if<PointerArg>(&arg)) CheckOnDevice(pointer->tensor, where);
    if (const auto* desc = std::get_if<DescriptorArg>(&arg)) {
      CheckOnDevice(desc->tensor, where);
      size_t rank = desc->shape.size();
      if (rank < 1 || rank > 5) Fail("{}: a descriptor has rank 1 to 5", where);
      if (desc->strides.size() != rank || desc->block.size() != rank) {
        Fail("{}: shape, strides and block of a descriptor differ in length", where);
      }
    }
  }

  void CheckOnDevice(TensorId id, const std::string& where) const {
    if (!plan_.tensors[id].on_cuda) Fail("{}: tensor {} is not on the device", where, id);
    if (IsComplex(plan_.tensors[id].dtype)) Fail("{}: a kernel takes no complex tensor", where);
  }

  const Plan& plan_;
  std::vector<bool> defined_;  // has a value that the next step may use
  std::vector<bool> made_;     // had a value at some time
};

// "*", "(a,b)", "[a,b]", "{"key":a}", nested; as many stars as outputs.
class StructureReader {
 public:
  explicit StructureReader(std::string_view text) : text_(text) {}

  size_t CountLeaves() {
    Item(0);
    if (at_ != text_.size()) Fail("structure: text after the end");
    return leaves_;
  }
  size_t containers() const { return containers_; }  // that were met

 private:
  char Next() { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(char c) {
    if (Next() != c) return false;
    ++at_;
    return true;
  }
  void Expect(char c) {
    if (!Take(c)) Fail("structure: expected '{}' at byte {}", c, at_);
  }

  // Text, or a number.
  void Key() {
    auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (Take('-') || is_digit(Next())) {
      if (!is_digit(Next())) Fail("structure: expected a number at byte {}", at_);
      while (is_digit(Next())) ++at_;
    } else {
      Expect('"');
      while (Next() != '"' && at_ < text_.size()) at_ += Next() == '\\' ? 2 : 1;
      Expect('"');
    }
    Expect(':');
  }

  void Item(int depth) {
    if (depth > limits::kListDepth) Fail("structure: nests too deeply");
    if (Take('*')) {
      ++leaves_;
      return;
    }
    ++containers_;
    if (Take('(')) {
      Items(')', false, depth);
    } else if (Take('[')) {
      Items(']', false, depth);
    } else {
      Expect('{');
      Items('}', true, depth);
    }
  }

  void Items(char close, bool keyed, int depth) {
    while (!Take(close)) {
      if (keyed) Key();
      Item(depth + 1);
      if (!Take(',') && Next() != close) Expect(',');
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t leaves_ = 0, containers_ = 0;
};

// What a printed module spells is names, with dots between them.
void CheckPacked(const Plan& plan, size_t containers) {
  int last = -1;
  for (const PackedAs& packed : plan.packed) {
    if (packed.container <= last || static_cast<size_t>(packed.container) >= containers)
      Fail("packed: no container {}", packed.container);
    last = packed.container;
    if (!packed.type.empty() && !IsPythonName(packed.type, Dots::kInside)) Fail("packed: a type has no name");
    for (const std::string& field : packed.fields)
      if (!IsPythonName(field)) Fail("packed: a field has no name");
  }
}

// What a program takes and returns is real: that is what candidates can take, and what is compared.
void CheckReal(const Plan& plan) {
  auto require = [&](TensorId id, const char* where) {
    if (IsComplex(plan.tensors[id].dtype)) Fail("{}: tensor {} is complex", where, id);
  };
  ForEachTensor(plan.init_inputs, [&](TensorId id) { require(id, "init_inputs"); });
  ForEachTensor(plan.warmup_inputs, [&](TensorId id) { require(id, "warmup_inputs"); });
  ForEachTensor(plan.inputs, [&](TensorId id) { require(id, "inputs"); });
  ForEachTensor(plan.outputs, [&](TensorId id) { require(id, "outputs"); });
}

void CheckState(const Plan& plan, const Checker& checker) {
  std::unordered_set<std::string_view> names;
  for (size_t i = 0; i < plan.state.size(); ++i) {
    std::string where = fmt::format("state[{}]", i);
    checker.RequireDefined(plan.state[i].tensor, where);
    if (!names.insert(plan.state[i].name).second) Fail("{}: the name occurs twice", where);
  }
  for (size_t i = 0; i < plan.unsaved.size(); ++i)
    checker.RequireDefined(plan.unsaved[i].tensor, fmt::format("unsaved[{}]", i));
}

void CheckKernels(const Plan& plan) {
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    const KernelOptions& options = plan.kernels[i].options;
    auto power_of_two = [](int n) { return n > 0 && (n & (n - 1)) == 0; };
    if (!IsIdentifier(plan.kernels[i].name)) Fail("kernels[{}]: malformed name", i);
    if (!power_of_two(options.num_warps)) Fail("kernels[{}]: num_warps is a power of two", i);
    if (!power_of_two(options.num_ctas)) Fail("kernels[{}]: num_ctas is a power of two", i);
  }
}

}  // namespace

bool IsPythonName(std::string_view text, Dots dots) {
  bool inside = false;  // of a name
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool dot = dots == Dots::kInside && c == '.';
    if (!letter && !(inside && ((c >= '0' && c <= '9') || dot))) return false;
    inside = c != '.';
  }
  return inside;
}

void Validate(const Plan& plan) {
  for (size_t id = 0; id < plan.tensors.size(); ++id) CheckMeta(plan, static_cast<TensorId>(id));
  CheckKernels(plan);
  Checker checker(plan);
  if (plan.role == Role::kReference) {
    checker.CheckSteps(plan.generate, "generate");
    ForEachTensor(plan.init_inputs, [&](TensorId id) { checker.RequireDefined(id, "init_inputs"); });
    ForEachTensor(plan.inputs, [&](TensorId id) { checker.RequireDefined(id, "inputs"); });
    checker.HideAll();
  } else {
    if (!plan.generate.empty()) Fail("generate: candidates make no inputs");
  }
  checker.Define(plan.init_inputs, "init_inputs");
  checker.Define(plan.warmup_inputs, "warmup_inputs");
  checker.CheckSteps(plan.setup, "setup");
  CheckState(plan, checker);
  checker.Define(plan.inputs, "inputs");
  checker.CheckSteps(plan.run, "run");
  ForEachTensor(plan.outputs, [&](TensorId id) { checker.RequireDefined(id, "outputs"); });
  CheckReal(plan);
  StructureReader structure(plan.structure);
  if (structure.CountLeaves() != plan.outputs.size()) {
    Fail("structure: as many leaves as outputs are needed");
  }
  CheckPacked(plan, structure.containers());
}

}  // namespace tritogen
