#include "plan/parse.h"

#include <set>
#include <utility>

#include "base/error.h"
#include "base/json_cursor.h"
#include "plan/limits.h"
#include "plan/validate.h"

namespace tritogen {
namespace {

namespace limits = plan_limits;

template <typename F>
auto ParseList(const JsonCursor& at, size_t limit, F parse) {
  std::vector<decltype(parse(at))> list;
  size_t size = at.Size(limit);
  list.reserve(size);
  for (size_t i = 0; i < size; ++i) list.push_back(parse(at[i]));
  return list;
}

std::vector<int64_t> ParseInts(const JsonCursor& at, int64_t low, int64_t high) {
  return ParseList(at, limits::kRank, [&](const JsonCursor& item) { return item.Int(low, high); });
}

TensorId ParseTensorId(const JsonCursor& at) {
  return static_cast<TensorId>(at.Int(0, static_cast<int64_t>(limits::kTensors) - 1));
}

int ParseLine(const JsonCursor& at) {
  return static_cast<int>(at["line"].Int(0, std::numeric_limits<int32_t>::max()));
}

Dtype ParseDtype(const JsonCursor& at) {
  auto dtype = DtypeFromName(at.String(limits::kNameBytes));
  if (!dtype) at.Fail("unknown dtype");
  return *dtype;
}

bool ParseDevice(const JsonCursor& at) {
  const std::string& name = at.String(limits::kNameBytes);
  if (name != "cpu" && name != "cuda") at.Fail("a device is 'cpu' or 'cuda'");
  return name == "cuda";
}

// Arguments of a program have dicts and objects in them; those of calls have none.
enum class Dicts { kRefused, kTaken };

Value ParseValue(const JsonCursor& at, Dicts dicts = Dicts::kRefused, int depth = 0);

// Programs that are printed have the keys in them as they are, between quotes or behind a dot.
const std::string& ParseKey(const JsonCursor& at, bool of_object) {
  const std::string& key = at.String(limits::kNameBytes);
  if (of_object && !IsPythonName(key)) at.Fail("no name of an attribute");
  for (const char c : key) {
    if (c < ' ' || c > '~' || c == '"' || c == '\\')
      at.Fail("a key is printable ASCII without quotes and backslashes");
  }
  return key;
}

Value ParseEntries(const JsonCursor& at, std::string type, int depth) {
  Value::Dict dict{std::move(type), {}, {}};
  std::set<std::string> seen;
  dict.items = ParseList(at, limits::kListLength, [&](const JsonCursor& entry) {
    entry.ExpectArray(2);
    dict.keys.push_back(ParseKey(entry[0], !dict.type.empty()));
    if (!seen.insert(dict.keys.back()).second) entry.Fail("a key that is there already");
    return ParseValue(entry[1], Dicts::kTaken, depth + 1);
  });
  return {std::move(dict)};
}

Value ParseObject(const JsonCursor& at, int depth) {
  at.ExpectArray(2);
  const std::string& type = at[0].String(limits::kNameBytes);
  if (!IsPythonName(type, Dots::kInside)) at[0].Fail("no name of a class");
  return ParseEntries(at[1], type, depth);
}

Value ParseTagged(const JsonCursor& at, Dicts dicts, int depth) {
  if (at.json().size() != 1) at.Fail("a value's map has exactly one key");
  if (at.Has("t")) return {TensorRef{ParseTensorId(at["t"])}};
  if (at.Has("dtype")) return {ParseDtype(at["dtype"])};
  if (at.Has("device")) return {DeviceValue{ParseDevice(at["device"])}};
  if (at.Has("layout")) return {LayoutValue{at["layout"].String(limits::kNameBytes)}};
  if (at.Has("memory_format")) return {MemoryFormatValue{at["memory_format"].String(limits::kNameBytes)}};
  if (at.Has("function")) return {FunctionValue{at["function"].String(limits::kNameBytes)}};
  if (dicts == Dicts::kTaken && at.Has("dict")) return ParseEntries(at["dict"], "", depth);
  if (dicts == Dicts::kTaken && at.Has("object")) return ParseObject(at["object"], depth);
  at.Fail("unknown kind of value");
}

Value ParseValue(const JsonCursor& at, Dicts dicts, int depth) {
  const nlohmann::json& json = at.json();
  if (depth > limits::kListDepth) at.Fail("lists nest too deeply");
  if (json.is_null()) return {};
  if (json.is_boolean()) return {at.Bool()};
  if (json.is_number_integer()) return {at.Int()};
  if (json.is_number_float()) return {json.get<double>()};
  if (json.is_string()) return {at.String(limits::kStringBytes)};
  if (json.is_object()) return ParseTagged(at, dicts, depth);
  return {ParseList(at, limits::kListLength,
                    [&](const JsonCursor& item) { return ParseValue(item, dicts, depth + 1); })};
}

std::vector<Value> ParseValues(const JsonCursor& at, size_t limit, Dicts dicts = Dicts::kRefused) {
  return ParseList(at, limit, [dicts](const JsonCursor& item) { return ParseValue(item, dicts); });
}

TensorMeta ParseTensor(const JsonCursor& at) {
  at.ExpectArray(6);
  TensorMeta meta;
  meta.storage = static_cast<StorageId>(at[0].Int(0, static_cast<int64_t>(limits::kStorages) - 1));
  meta.dtype = ParseDtype(at[1]);
  meta.sizes = ParseInts(at[2], 0, limits::kElements);
  meta.strides = ParseInts(at[3], 0, limits::kElements);
  meta.offset = at[4].Int(0, limits::kElements);
  meta.on_cuda = ParseDevice(at[5]);
  return meta;
}

AtenStep ParseAten(const JsonCursor& at) {
  at.ExpectKeys({"op", "args", "kwargs", "outs", "line"});
  AtenStep step;
  step.op = at["op"].String(limits::kNameBytes);
  step.args = ParseValues(at["args"], limits::kArguments);
  at["kwargs"].ExpectObject();
  for (const auto& [key, value] : at["kwargs"].json().items()) {
    auto kwargs = at["kwargs"];
    if (key.empty() || key.size() > limits::kNameBytes) kwargs.Fail("bad argument name");
    step.kwargs.emplace_back(key, ParseValue(kwargs[key]));
  }
  step.outs = ParseList(at["outs"], limits::kListLength, [](const JsonCursor& item) {
    return static_cast<TensorId>(item.Int(kNoTensor, static_cast<int64_t>(limits::kTensors) - 1));
  });
  step.line = ParseLine(at);
  return step;
}

ConstantStep ParseConstant(const JsonCursor& at) {
  at.ExpectKeys({"op", "out", "data", "line"});
  ConstantStep step;
  step.out = ParseTensorId(at["out"]);
  auto data = at["data"];
  if (data.json().is_binary()) {
    step.data = data.json().get_binary();
  } else {  // what nlohmann::json writes for binary data in JSON text
    data.ExpectKeys({"bytes", "subtype"});
    step.data = ParseList(data["bytes"], limits::kTextBytes,
                          [](const JsonCursor& item) { return static_cast<uint8_t>(item.Int(0, 255)); });
  }
  step.line = ParseLine(at);
  return step;
}

DescriptorArg ParseDescriptor(const JsonCursor& at) {
  at.ExpectKeys({"t", "shape", "strides", "block", "padding"});
  DescriptorArg desc;
  desc.tensor = ParseTensorId(at["t"]);
  desc.shape = ParseInts(at["shape"], 0, limits::kElements);
  desc.strides = ParseInts(at["strides"], 0, limits::kElements);
  desc.block = ParseInts(at["block"], 1, limits::kElements);
  const std::string& padding = at["padding"].String(limits::kNameBytes);
  if (padding != "zero" && padding != "nan") at["padding"].Fail("padding is 'zero' or 'nan'");
  desc.pad_nan = padding == "nan";
  return desc;
}

KernelArg ParseKernelArg(const JsonCursor& at) {
  const nlohmann::json& json = at.json();
  if (json.is_boolean()) return int64_t{at.Bool()};
  if (json.is_number_integer()) return at.Int();
  if (json.is_number_float()) return json.get<double>();
  at.ExpectKeys({"ptr", "desc"});
  if (json.size() != 1) at.Fail("expected one of 'ptr' and 'desc'");
  if (at.Has("ptr")) return PointerArg{ParseTensorId(at["ptr"])};
  return ParseDescriptor(at["desc"]);
}

LaunchVariant ParseVariant(const JsonCursor& at) {
  at.ExpectKeys({"kernel", "grid", "args", "call"});
  LaunchVariant variant;
  variant.kernel = static_cast<int>(at["kernel"].Int(0, static_cast<int64_t>(limits::kKernels) - 1));
  auto grid = at["grid"];
  grid.ExpectArray(3);
  for (size_t i = 0; i < 3; ++i) variant.grid[i] = grid[i].Int(0, (int64_t{1} << 31) - 1);
  variant.args = ParseList(at["args"], limits::kArguments, ParseKernelArg);
  variant.call = ParseList(at["call"], limits::kArguments, [](const JsonCursor& item) {
    item.ExpectArray(2);
    return std::pair(item[0].String(limits::kNameBytes), ParseValue(item[1]));
  });
  return variant;
}

LaunchStep ParseLaunch(const JsonCursor& at) {
  at.ExpectKeys({"op", "variants", "line"});
  return {ParseList(at["variants"], limits::kVariants, ParseVariant), ParseLine(at)};
}

Step ParseStep(const JsonCursor& at) {
  const std::string& op = at["op"].String(limits::kNameBytes);
  if (op == "launch") return ParseLaunch(at);
  if (op == "constant") return ParseConstant(at);
  return ParseAten(at);
}

KernelOptions ParseOptions(const JsonCursor& at) {
  at.ExpectObject();  // other options of Triton may stand here; these change the code or its launch
  KernelOptions options;
  options.num_warps = static_cast<int>(at["num_warps"].Int(1, 32));
  options.num_stages = static_cast<int>(at["num_stages"].Int(0, 64));
  options.num_ctas = static_cast<int>(at["num_ctas"].Int(1, 16));
  if (at.Has("maxnreg") && !at["maxnreg"].json().is_null()) {
    options.maxnreg = static_cast<int>(at["maxnreg"].Int(0, 255));
  }
  auto read = [&at](std::string_view name, bool* option) {
    if (at.Has(name)) *option = at[name].Bool();
  };
  read("enable_fp_fusion", &options.enable_fp_fusion);
  read("enable_reflect_ftz", &options.enable_reflect_ftz);
  read("launch_cooperative_grid", &options.launch_cooperative_grid);
  // Such a kernel may start before what its predecessor wrote can be seen (CUDA's programming guide on
  // dependent launches). The instructions that wait for it are refused in TTIR, so there is no right program
  // with it.
  if (at.Has("launch_pdl") && at["launch_pdl"].Bool()) {
    at["launch_pdl"].Fail("a kernel must not start before the one in front of it is done");
  }
  return options;
}

Kernel ParseKernel(const JsonCursor& at) {
  at.ExpectKeys({"name", "ttir", "source", "support", "options"});
  return {at["name"].String(limits::kNameBytes), at["ttir"].String(limits::kTextBytes),
          at["source"].String(limits::kTextBytes), at["support"].String(limits::kTextBytes),
          ParseOptions(at["options"])};
}

StateEntry ParseState(const JsonCursor& at) {
  at.ExpectArray(3);
  const std::string& kind = at[2].String(limits::kNameBytes);
  if (kind != "parameter" && kind != "buffer") at[2].Fail("kind is 'parameter' or 'buffer'");
  return {at[0].String(limits::kNameBytes), ParseTensorId(at[1]), kind == "parameter"};
}

std::vector<std::string> ParseNames(const JsonCursor& at) {
  return ParseList(at, limits::kListLength,
                   [](const JsonCursor& item) { return item.String(limits::kNameBytes); });
}

PackedAs ParsePacked(const JsonCursor& at) {
  at.ExpectArray(3);
  return {static_cast<int>(at[0].Int(0, limits::kListLength)), at[1].String(limits::kNameBytes),
          ParseNames(at[2])};
}

}  // namespace

Plan ParsePlan(const nlohmann::json& map) {
  JsonCursor root(map);
  root.ExpectKeys({"version", "role", "storages", "tensors", "kernels", "generate", "setup", "run",
                   "init_inputs", "inputs", "warmup_inputs", "state", "unsaved", "outputs", "structure",
                   "packed", "changed", "training"});
  root["version"].Int(1, 1);
  Plan plan;
  const std::string& role = root["role"].String(limits::kNameBytes);
  if (role != "reference" && role != "candidate") root["role"].Fail("role is 'reference' or 'candidate'");
  plan.role = role == "reference" ? Role::kReference : Role::kCandidate;
  plan.storages = ParseList(root["storages"], limits::kStorages,
                            [](const JsonCursor& item) { return item.Int(0, limits::kStorageBytes); });
  plan.tensors = ParseList(root["tensors"], limits::kTensors, ParseTensor);
  plan.kernels = ParseList(root["kernels"], limits::kKernels, ParseKernel);
  plan.generate = ParseList(root["generate"], limits::kSteps, ParseStep);
  plan.setup = ParseList(root["setup"], limits::kSteps, ParseStep);
  plan.run = ParseList(root["run"], limits::kSteps, ParseStep);
  plan.init_inputs = ParseValues(root["init_inputs"], limits::kListLength, Dicts::kTaken);
  plan.inputs = ParseValues(root["inputs"], limits::kListLength, Dicts::kTaken);
  plan.warmup_inputs = ParseValues(root["warmup_inputs"], limits::kListLength, Dicts::kTaken);
  plan.state = ParseList(root["state"], limits::kListLength, ParseState);
  if (root.Has("unsaved")) plan.unsaved = ParseList(root["unsaved"], limits::kListLength, ParseState);
  plan.outputs = ParseValues(root["outputs"], limits::kListLength);
  plan.structure = root["structure"].String(limits::kStringBytes);
  if (root.Has("packed")) plan.packed = ParseList(root["packed"], limits::kListLength, ParsePacked);
  if (root.Has("changed")) plan.changed = ParseNames(root["changed"]);
  plan.training = root["training"].Bool();
  Validate(plan);
  return plan;
}

}  // namespace tritogen
