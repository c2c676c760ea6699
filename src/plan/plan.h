// Plan: the exact sequence of ATen calls and Triton launches that recording yields, without data. Format and
// meaning of every field: docs/formats/plan.md. A Plan comes out of a jail that ran somebody else's Python,
// so it is hostile until ParsePlan has checked it; the invariants below hold for every Plan that ParsePlan
// returned.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"

namespace tritogen {

using TensorId = int32_t;
using StorageId = int32_t;
inline constexpr TensorId kNoTensor = -1;

struct TensorMeta {
  StorageId storage = -1;  // index into Plan::storages; the tensor lies inside it
  Dtype dtype = Dtype::kFloat32;
  std::vector<int64_t> sizes;    // each ≥ 0
  std::vector<int64_t> strides;  // elements, each ≥ 0, as many as sizes
  int64_t offset = 0;            // elements
  bool on_cuda = true;           // the device that the program believed in

  int64_t numel() const;
  // Elements from the first to behind the last, where none is skipped; 0 without elements.
  int64_t Span() const;
  // No two elements share memory, as those of an expanded tensor do. False for some that interleave, too.
  bool HoldsEachElement() const;
  // Some element of one lies where one of the other does.
  bool Overlaps(const TensorMeta& other) const;
  bool operator==(const TensorMeta&) const = default;
};

struct TensorRef {
  TensorId id;
  bool operator==(const TensorRef&) const = default;
};
struct DeviceValue {
  bool cuda;
  bool operator==(const DeviceValue&) const = default;
};
struct LayoutValue {
  std::string name;
  bool operator==(const LayoutValue&) const = default;
};
struct MemoryFormatValue {
  std::string name;
  bool operator==(const MemoryFormatValue&) const = default;
};

// A @triton.jit function that a launch passes to its kernel by name.
struct FunctionValue {
  std::string name;
  bool operator==(const FunctionValue&) const = default;
};

// One argument of an ATen call, of a launch, one leaf of the inputs or outputs.
struct Value {
  using List = std::vector<Value>;
  // Of what a program is given alone; calls have none. `keys[i]` is that of `items[i]`, in the program's
  // order. An object is the dict of its attributes with what the reference's file calls its class.
  struct Dict {
    std::string type;  // empty: a dict
    std::vector<std::string> keys;
    List items;
    bool operator==(const Dict&) const = default;
  };
  std::variant<std::monostate, bool, int64_t, double, std::string, TensorRef, Dtype, DeviceValue, LayoutValue,
               MemoryFormatValue, FunctionValue, List, Dict>
      v;
  bool operator==(const Value&) const = default;
};

struct AtenStep {
  std::string op;  // "aten::add.Tensor"
  std::vector<Value> args;
  std::vector<std::pair<std::string, Value>> kwargs;
  std::vector<TensorId>
      outs;  // tensor results in schema order, lists flattened, kNoTensor for undefined ones
  int line = 0;
};

struct ConstantStep {
  TensorId out = kNoTensor;
  std::vector<uint8_t> data;  // contiguous values, exactly numel × element size bytes
  int line = 0;
};

// A host tensor descriptor; stands for 1 + 2 × rank TTIR parameters.
struct DescriptorArg {
  TensorId tensor = kNoTensor;
  std::vector<int64_t> shape, strides, block;
  bool pad_nan = false;
};
struct PointerArg {
  TensorId tensor;
};
using KernelArg = std::variant<PointerArg, int64_t, double, DescriptorArg>;

struct LaunchVariant {
  int kernel = -1;                                  // index into Plan::kernels
  std::array<int64_t, 3> grid{1, 1, 1};             // each in [0, 2^31)
  std::vector<KernelArg> args;                      // one per TTIR parameter (descriptors stand for several)
  std::vector<std::pair<std::string, Value>> call;  // every Python parameter by name, constexprs included
};

struct LaunchStep {
  std::vector<LaunchVariant> variants;  // at least one; several when the program asked for autotuning
  int line = 0;
};

using Step = std::variant<AtenStep, ConstantStep, LaunchStep>;

struct KernelOptions {
  int num_warps = 4, num_stages = 3, num_ctas = 1;
  int maxnreg = 0;  // 0: no limit
  bool enable_fp_fusion = true, enable_reflect_ftz = true;
  bool launch_cooperative_grid = false, launch_pdl = false;
  bool operator==(const KernelOptions&) const = default;
};

struct Kernel {
  std::string name;
  std::string ttir;     // with locations
  std::string source;   // Python text of the @triton.jit function
  std::string support;  // Python text of helpers and constants it needs
  KernelOptions options;
};

struct StateEntry {
  std::string name;  // as in the state dict
  TensorId tensor = kNoTensor;
  bool is_parameter = true;
};

// A container of `structure` that is no plain tuple, list or dict: a named tuple, what torch.max returns, a
// dataclass.
struct PackedAs {
  int container = 0;  // in the order of opening brackets
  std::string type;   // how the program's file names it: "Out", "torch.return_types.max"; empty: it cannot
  std::vector<std::string> fields;  // none: made from the plain container
  bool operator==(const PackedAs&) const = default;
};

enum class Role { kReference, kCandidate };

struct Plan {
  Role role = Role::kCandidate;
  std::vector<int64_t> storages;  // bytes
  std::vector<TensorMeta> tensors;
  std::vector<Kernel> kernels;
  std::vector<Step> generate, setup, run;
  std::vector<Value> init_inputs, inputs, warmup_inputs;
  std::vector<StateEntry> state;
  std::vector<StateEntry> unsaved;  // buffers that the state dict does not have
  std::vector<Value> outputs;
  std::string structure;
  std::vector<PackedAs> packed;
  std::vector<std::string> changed;  // attributes and globals that a call of the reference changes
  bool training = false;
};

}  // namespace tritogen
