#include "cuda/compiled_kernel.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/frame.h"
#include "base/json_cursor.h"
#include "base/utf8.h"

namespace tritogen::cuda {
namespace {

constexpr std::array<std::string_view, 7> kReasons = {"invalid", "lowering", "ptxas",         "shared_memory",
                                                      "timeout", "killed",   "infrastructure"};
constexpr size_t kMaxCubinBytes = size_t{64} << 20;
constexpr size_t kMaxNameBytes = 4096;
constexpr size_t kMaxTypeBytes = 256;
constexpr size_t kMaxParameters = 1024;
constexpr size_t kMaxDetailBytes = 16 << 10;
constexpr int64_t kMaxBytes = int64_t{1} << 40;
constexpr int kMaxRank = 5;

// "!tt.tensordesc<tensor<32x64xf16>>" → 2.
int DescriptorRank(const JsonCursor& at, std::string_view type) {
  size_t place = type.find("tensor<");
  if (place == std::string_view::npos) at.Fail("a tensor descriptor without a block");
  int rank = 0;
  for (place += 7; place < type.size(); ++place) {
    const size_t digits = type.find_first_not_of("0123456789", place);
    if (digits == place || digits == std::string_view::npos || type[digits] != 'x') break;
    place = digits;
    ++rank;
  }
  if (rank < 1 || rank > kMaxRank) at.Fail("a tensor descriptor has rank 1 to 5");
  return rank;
}

Parameter ParseParameter(const JsonCursor& at) {
  const std::string& type = at.String(kMaxTypeBytes);
  Parameter parameter;
  if (type.starts_with("*") || type.starts_with("!tt.ptr<")) return parameter;
  if (type.starts_with("!tt.tensordesc<")) {
    parameter.kind = Parameter::Kind::kDescriptor;
    parameter.rank = DescriptorRank(at, type);
    return parameter;
  }
  for (int bits : {1, 8, 16, 32, 64}) {
    if (type != fmt::format("i{}", bits)) continue;
    parameter.kind = Parameter::Kind::kInteger;
    parameter.bits = bits;
    return parameter;
  }
  constexpr std::pair<std::string_view, Parameter::Kind> kFloats[] = {{"f16", Parameter::Kind::kFloat16},
                                                                      {"bf16", Parameter::Kind::kBFloat16},
                                                                      {"f32", Parameter::Kind::kFloat32},
                                                                      {"f64", Parameter::Kind::kFloat64}};
  for (const auto& [name, kind] : kFloats) {
    if (type != name) continue;
    parameter.kind = kind;
    return parameter;
  }
  at.Fail("a kernel has a parameter of a type that no launcher can pass");
}

template <typename T>
T Integer(const JsonCursor& at, T low, T high) {
  return static_cast<T>(at.Int(low, high));
}

TensorMapLayout ParseTensorMap(const JsonCursor& at) {
  at.ExpectKeys({"swizzle", "elem_size", "elem_type", "block_size", "fp4_padded"});
  TensorMapLayout layout;
  layout.swizzle = Integer(at["swizzle"], 0, 6);
  layout.element_bytes = Integer(at["elem_size"], 1, 16);
  layout.element_type = Integer(at["elem_type"], 0, 15);
  const JsonCursor block = at["block_size"];
  for (size_t i = 0, rank = block.Size(kMaxRank); i < rank; ++i) {
    layout.block.push_back(block[i].Int(1, 1 << 20));
  }
  layout.fp4_padded = at["fp4_padded"].Bool();
  return layout;
}

// Either every descriptor of the signature has a tensor map, or none.
void AddTensorMaps(const JsonCursor& at, std::vector<Parameter>* parameters) {
  const size_t count = at.Size(kMaxParameters);
  size_t next = 0;
  for (Parameter& parameter : *parameters) {
    if (parameter.kind != Parameter::Kind::kDescriptor || count == 0) continue;
    if (next == count) at.Fail("there are fewer tensor maps than descriptors");
    parameter.has_tensor_map = true;
    parameter.tensor_map = ParseTensorMap(at[next]);
    if (static_cast<int>(parameter.tensor_map.block.size()) != parameter.rank) {
      at[next].Fail("a tensor map has another rank than its descriptor");
    }
    ++next;
  }
  if (next != count) at.Fail("there are more tensor maps than descriptors");
}

// Bytes of the cubin's parameters that stand for one of the TTIR function.
void AppendSlotBytes(const Parameter& parameter, std::vector<int>* bytes) {
  switch (parameter.kind) {
    case Parameter::Kind::kPointer:
    case Parameter::Kind::kFloat64:
      return bytes->push_back(8);
    case Parameter::Kind::kInteger:
      return bytes->push_back(std::max(parameter.bits / 8, 1));
    case Parameter::Kind::kFloat16:
    case Parameter::Kind::kBFloat16:
      return bytes->push_back(2);
    case Parameter::Kind::kFloat32:
      return bytes->push_back(4);
    case Parameter::Kind::kDescriptor:
      if (parameter.has_tensor_map) return bytes->push_back(128);
      bytes->insert(bytes->end(), 1 + 2 * parameter.rank, 8);  // pointer, shape, strides, padding flag
      return bytes->push_back(1);
  }
}

// The number of scratch pointers after the parameters that TTIR knows.
int CheckSlots(const JsonCursor& at, const CompiledKernel& kernel) {
  std::vector<int> expected;
  for (const Parameter& parameter : kernel.parameters) AppendSlotBytes(parameter, &expected);
  const size_t scratch = kernel.slots.size() - expected.size();
  if (kernel.slots.size() < expected.size() || scratch > 2) {
    at.Fail(fmt::format("the cubin has {} parameters, TTIR {}", kernel.slots.size(), expected.size()));
  }
  expected.insert(expected.end(), scratch, 8);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (kernel.slots[i].bytes != expected[i]) {
      at[i].Fail(
          fmt::format("the cubin wants {} bytes where TTIR gives {}", kernel.slots[i].bytes, expected[i]));
    }
  }
  return static_cast<int>(scratch);
}

Scratch ParseScratch(const JsonCursor& at) {
  at.ExpectArray(2);
  return {at[0].Int(0, kMaxBytes), at[1].Int(1, 1 << 20)};
}

CompiledKernel ParseKernel(const JsonCursor& at) {
  at.ExpectKeys({"name", "cubin", "signature", "slots", "descriptors", "num_warps", "num_ctas", "shared",
                 "tensor_memory", "global_scratch", "profile_scratch", "launch_pdl",
                 "launch_cooperative_grid", "registers", "spill_bytes", "ptx"});
  CompiledKernel kernel;
  kernel.name = at["name"].String(kMaxNameBytes);
  const JsonCursor cubin = at["cubin"];
  if (!cubin.json().is_binary() || cubin.json().get_binary().size() > kMaxCubinBytes) {
    cubin.Fail("a cubin is a byte string of at most 64 MiB");
  }
  const auto& bytes = cubin.json().get_binary();
  kernel.cubin.assign(bytes.begin(), bytes.end());
  const JsonCursor signature = at["signature"], slots = at["slots"];
  for (size_t i = 0, n = signature.Size(kMaxParameters); i < n; ++i) {
    kernel.parameters.push_back(ParseParameter(signature[i]));
  }
  AddTensorMaps(at["descriptors"], &kernel.parameters);
  for (size_t i = 0, n = slots.Size(16 * kMaxParameters); i < n; ++i) {
    slots[i].ExpectArray(2);
    kernel.slots.push_back({Integer(slots[i][0], 1, 4096), Integer(slots[i][1], 1, 128)});
  }
  kernel.scratch_parameters = CheckSlots(slots, kernel);
  kernel.num_warps = Integer(at["num_warps"], 1, 64);
  kernel.num_ctas = Integer(at["num_ctas"], 1, 16);
  kernel.shared_bytes = at["shared"].Int(0, kMaxBytes);
  kernel.tensor_memory_columns = at["tensor_memory"].Int(0, kMaxBytes);
  kernel.global_scratch = ParseScratch(at["global_scratch"]);
  kernel.profile_scratch = ParseScratch(at["profile_scratch"]);
  kernel.launch_pdl = at["launch_pdl"].Bool();
  kernel.launch_cooperative_grid = at["launch_cooperative_grid"].Bool();
  kernel.registers = Integer(at["registers"], 0, 1024);
  kernel.spill_bytes = at["spill_bytes"].Int(0, kMaxBytes);
  if (at.Has("ptx")) kernel.ptx = at["ptx"].String(kMaxCubinBytes);
  return kernel;
}

CompileFailure ParseFailure(const JsonCursor& root) {
  root.ExpectKeys({"ok", "reason", "detail"});
  const std::string& reason = root["reason"].String(kMaxTypeBytes);
  const auto found = std::find(kReasons.begin(), kReasons.end(), reason);
  if (found == kReasons.end()) root["reason"].Fail("unknown reason");
  return {static_cast<CompileFailure::Reason>(found - kReasons.begin()),
          PrintableText(root["detail"].String(kMaxCubinBytes), kMaxDetailBytes)};
}

}  // namespace

std::string_view ReasonName(CompileFailure::Reason reason) {
  return kReasons[static_cast<size_t>(reason)];
}

CompileOutcome DecodeOutcome(std::string_view bytes) {
  const nlohmann::json map = DecodeMessagePack(bytes);
  const JsonCursor root(map);
  root.ExpectObject();
  if (!root["ok"].Bool()) return ParseFailure(root);
  root.ExpectKeys({"ok", "kernel"});
  return ParseKernel(root["kernel"]);
}

std::string EncodeFailure(const CompileFailure& failure) {
  const nlohmann::json map = {{"ok", false},
                              {"reason", ReasonName(failure.reason)},
                              {"detail", PrintableText(failure.detail, kMaxDetailBytes)}};
  std::string bytes;
  nlohmann::json::to_msgpack(map, bytes);
  return bytes;
}

}  // namespace tritogen::cuda
