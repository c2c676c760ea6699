#include "emit/wrapper.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "base/error.h"
#include "base/overloaded.h"
#include "emit/python_text.h"
#include "emit/returns.h"
#include "plan/visit.h"
#include "program/literal.h"
#include "program/triton_dtype.h"

namespace tritogen {
namespace {

// Operators whose result is one list, so that even a single tensor comes in brackets.
const std::set<std::string_view> kListResults = {"aten::split.Tensor", "aten::split_with_sizes",
                                                 "aten::unbind.int", "aten::chunk",
                                                 "aten::unsafe_split.Tensor"};

// Where PyTorch's own spelling makes the very same call, it reads better than torch.ops.
std::string Spelling(const std::string& op) {
  if (op == "aten::empty.memory_format") return "torch.empty";
  if (op == "aten::empty_like") return "torch.empty_like";
  if (op == "aten::zeros") return "torch.zeros";
  const std::string name = op.substr(op.find("::") + 2);
  return "torch.ops.aten." + name + (name.find('.') == std::string::npos ? ".default" : "");
}

// The one integer in which two launches of a kernel differ, as its place among the arguments of the call.
std::optional<size_t> OnlyDifference(const LaunchVariant& a, const LaunchVariant& b) {
  if (a.kernel != b.kernel || a.grid != b.grid || a.call.size() != b.call.size()) return std::nullopt;
  std::optional<size_t> found;
  for (size_t i = 0; i < a.call.size(); ++i) {
    if (a.call[i] == b.call[i]) continue;
    const bool integers = a.call[i].first == b.call[i].first &&
                          std::holds_alternative<int64_t>(a.call[i].second.v) &&
                          std::holds_alternative<int64_t>(b.call[i].second.v);
    if (found || !integers) return std::nullopt;
    found = i;
  }
  return found;
}

std::string OptionsText(const KernelOptions& options) {
  std::vector<std::string> items;
  const KernelOptions defaults;
  auto add = [&](std::string_view name, const auto& value, const auto& usual) {
    if (value != usual) items.push_back(fmt::format("\"{}\": {}", name, value));
  };
  auto add_flag = [&](std::string_view name, bool KernelOptions::*option) {
    if (options.*option != defaults.*option)
      items.push_back(fmt::format("\"{}\": {}", name, options.*option ? "True" : "False"));
  };
  add("num_warps", options.num_warps, defaults.num_warps);
  add("num_stages", options.num_stages, defaults.num_stages);
  add("num_ctas", options.num_ctas, defaults.num_ctas);
  if (options.maxnreg != defaults.maxnreg) items.push_back(fmt::format("\"maxnreg\": {}", options.maxnreg));
  add_flag("enable_fp_fusion", &KernelOptions::enable_fp_fusion);
  add_flag("enable_reflect_ftz", &KernelOptions::enable_reflect_ftz);
  add_flag("launch_cooperative_grid", &KernelOptions::launch_cooperative_grid);
  return fmt::format("{{{}}}", fmt::join(items, ", "));
}

// What a launch of several variants is printed as.
const LaunchVariant* PrintedLaunch(const Step& step) {
  const auto* launch = std::get_if<LaunchStep>(&step);
  return launch == nullptr ? nullptr : &launch->variants.front();
}

}  // namespace

LaunchLoop LoopFrom(const std::vector<const Step*>& steps, size_t first) {
  LaunchLoop loop;
  const LaunchVariant* before = PrintedLaunch(*steps[first]);
  if (before == nullptr) return loop;
  for (size_t i = first + 1; i < steps.size(); ++i) {
    const LaunchVariant* next = PrintedLaunch(*steps[i]);
    const auto at = next == nullptr ? std::nullopt : OnlyDifference(*before, *next);
    if (!at) break;
    const auto& [name, value] = before->call[*at];
    const int64_t from = std::get<int64_t>(value.v), to = std::get<int64_t>(next->call[*at].second.v);
    if (to <= from || (from < 0) != (to < 0)) break;  // their difference is a number of 64 bits
    if (loop.launches == 1) {
      loop.parameter = name;
      loop.first = from;
      loop.step = to - from;
    } else if (name != loop.parameter || to - from != loop.step) {
      break;
    }
    ++loop.launches;
    before = next;
  }
  return loop;
}

Wrapper::Wrapper(const Plan& plan)
    : plan_(plan),
      names_(plan.tensors.size()),
      used_({"self", "state", "device", "kept", "versions", "torch", "triton", "tl", "TensorDescriptor"}) {
  for (const Kernel& kernel : plan.kernels) used_.Unique(kernel.name);
  for (size_t i = 0; i < plan.inputs.size(); ++i) used_.Unique(fmt::format("x{}", i));
  for (const PackedAs& packed : plan.packed) used_.Unique(packed.type.substr(0, packed.type.find('.')));
}

std::string Wrapper::Fresh(TensorId id, std::string_view stem) {
  names_[id] = used_.Unique(fmt::format("{}{}", stem, next_++));
  return names_[id];
}

std::string Wrapper::Literal(const Value& value) const {
  return std::visit(
      Overloaded{[](std::monostate) -> std::string { return "None"; },
                 [](bool v) -> std::string { return v ? "True" : "False"; },
                 [](int64_t v) { return fmt::format("{}", v); }, [](double v) { return PythonFloat(v); },
                 [](const std::string& v) { return PythonString(v); },
                 [&](TensorRef v) { return names_[v.id]; }, [](Dtype v) { return PythonDtype(v); },
                 [](DeviceValue v) -> std::string { return v.cuda ? "device" : "\"cpu\""; },
                 [](const LayoutValue& v) { return fmt::format("torch.{}", v.name); },
                 [](const MemoryFormatValue& v) { return fmt::format("torch.{}", v.name); },
                 [](const FunctionValue& v) { return v.name; },
                 [&](const Value::List& v) {
                   std::vector<std::string> items;
                   for (const Value& item : v) items.push_back(Literal(item));
                   return fmt::format("[{}]", fmt::join(items, ", "));
                 },
                 [](const Value::Dict&) -> std::string { throw std::logic_error("a dict in a call"); }},
      value.v);
}

std::string Wrapper::AtenStatement(const AtenStep& step, int indent) {
  std::vector<std::string> arguments;
  for (const Value& value : step.args) arguments.push_back(Literal(value));
  for (const auto& [name, value] : step.kwargs)
    arguments.push_back(fmt::format("{}={}", name, Literal(value)));
  const bool fresh = step.op.starts_with("aten::empty") || step.op.starts_with("aten::new_empty");
  bool assigns = false;
  std::vector<std::string> targets;
  for (TensorId id : step.outs) {
    if (id == kNoTensor) {
      targets.push_back("_");
    } else if (!names_[id].empty()) {
      targets.push_back(names_[id]);  // in place: the value has its name already
    } else {
      targets.push_back(Fresh(id, fresh ? "buffer" : "t"));
      assigns = true;
    }
  }
  std::string head;
  if (assigns) {
    const std::string joined = fmt::format("{}", fmt::join(targets, ", "));
    head = kListResults.count(step.op) ? fmt::format("[{}] = ", joined) : fmt::format("{} = ", joined);
  }
  return FormatCall(head + Spelling(step.op), arguments, indent);
}

// Behind lift_fresh, as torch.tensor ends, it is a tensor of the program: views of it are steps, not other
// constants.
std::string Wrapper::ConstantStatement(const ConstantStep& step) {
  const TensorMeta& meta = plan_.tensors[step.out];
  const std::string name = Fresh(step.out, "constant");
  return fmt::format("{} = torch.ops.aten.lift_fresh({}.view({}))", name, PythonTensor(step.data, meta.dtype),
                     PythonTuple(meta.sizes));
}

// As a launch takes it: Triton's dtypes, tuples, host descriptors. `args` are the launch's pointers and
// descriptors, in the order of the tensors of its `call`; `next` is the first that is not yet spoken for.
std::string Wrapper::LaunchLiteral(const Value& value, const std::vector<KernelArg>& args,
                                   size_t* next) const {
  if (const auto* dtype = std::get_if<Dtype>(&value.v)) return TritonDtype(*dtype);
  if (const auto* list = std::get_if<Value::List>(&value.v)) {
    std::vector<std::string> items;
    for (const Value& item : *list) items.push_back(LaunchLiteral(item, args, next));
    return PythonTupleOf(items);
  }
  const auto* tensor = std::get_if<TensorRef>(&value.v);
  if (tensor == nullptr) return Literal(value);
  auto is_tensor = [](const KernelArg& arg) {
    return std::holds_alternative<PointerArg>(arg) || std::holds_alternative<DescriptorArg>(arg);
  };
  while (*next < args.size() && !is_tensor(args[*next])) ++*next;
  const auto* desc = *next < args.size() ? std::get_if<DescriptorArg>(&args[*next]) : nullptr;
  ++*next;
  if (desc == nullptr) return Literal(value);
  return fmt::format("TensorDescriptor({}, [{}], [{}], [{}]{})", names_[tensor->id],
                     fmt::join(desc->shape, ", "), fmt::join(desc->strides, ", "),
                     fmt::join(desc->block, ", "), desc->pad_nan ? ", padding=\"nan\"" : "");
}

std::string Wrapper::LaunchStatement(const LaunchStep& step, int indent, const LaunchLoop* loop) {
  const LaunchVariant& variant = step.variants.front();
  const Kernel& kernel = plan_.kernels[variant.kernel];
  const auto& grid = variant.grid;
  // Which launch, of what, how; then what Triton has to know.
  std::vector<std::string> arguments = {fmt::format("kept, {}, {}, ({}, {}, {}), {}", launches_++,
                                                    kernel.name, grid[0], grid[1], grid[2],
                                                    OptionsText(kernel.options))};
  size_t next = 0;
  for (const auto& [name, value] : variant.call) {
    const std::string literal = LaunchLiteral(value, variant.args, &next);
    const bool counts = loop != nullptr && name == loop->parameter;
    arguments.push_back(fmt::format("{}={}", name, counts ? loop->counter : literal));
  }
  return FormatCall("_launch", arguments, indent);
}

namespace {

// The integers that a step adds to, in place.
std::optional<TensorId> CounterOf(const Plan& plan, const Step& step) {
  const auto* aten = std::get_if<AtenStep>(&step);
  if (aten == nullptr || aten->op != "aten::add_.Tensor" || aten->args.size() != 2 || !aten->kwargs.empty())
    return std::nullopt;
  const auto* counter = std::get_if<TensorRef>(&aten->args[0].v);
  if (counter == nullptr || !std::holds_alternative<int64_t>(aten->args[1].v)) return std::nullopt;
  const bool counts =
      plan.tensors[counter->id].dtype == Dtype::kInt64 && aten->outs == std::vector{counter->id};
  return counts ? std::optional(counter->id) : std::nullopt;
}

}  // namespace

size_t CountersFrom(const Plan& plan, const std::vector<const Step*>& steps, size_t first) {
  std::set<StorageId> counted;
  size_t end = first;
  for (; end < steps.size(); ++end) {
    const auto counter = CounterOf(plan, *steps[end]);
    if (!counter || std::get<AtenStep>(*steps[end]).args[1] != std::get<AtenStep>(*steps[first]).args[1])
      break;
    if (!counted.insert(plan.tensors[*counter].storage).second) break;
  }
  return end - first;
}

// The recorder takes it for the steps that it stands for.
std::string Wrapper::CountersStatement(const std::vector<const Step*>& steps, size_t first, size_t count,
                                       int indent) const {
  std::vector<std::string> counters;
  for (size_t i = first; i < first + count; ++i)
    counters.push_back(Literal(std::get<AtenStep>(*steps[i]).args[0]));
  const std::string number = Literal(std::get<AtenStep>(*steps[first]).args[1]);
  return FormatCall("torch._foreach_add_", {FormatCall("", counters, indent + 4), number}, indent);
}

std::string Wrapper::Statements(const std::vector<const Step*>& steps, int indent) {
  constexpr size_t kLeast = 3;  // launches that are worth a loop
  std::string out;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (LaunchLoop loop = LoopFrom(steps, i); loop.launches >= kLeast) {
      loop.counter = used_.Unique(fmt::format("i{}", next_++));
      const int64_t end = loop.first + static_cast<int64_t>(loop.launches - 1) * loop.step + 1;
      const std::string range = loop.step != 1    ? fmt::format("{}, {}, {}", loop.first, end, loop.step)
                                : loop.first != 0 ? fmt::format("{}, {}", loop.first, end)
                                                  : fmt::format("{}", end);
      out += fmt::format("{:{}}for {} in range({}):\n", "", indent, loop.counter, range);
      out += fmt::format("{:{}}{}\n", "", indent + 4,
                         LaunchStatement(std::get<LaunchStep>(*steps[i]), indent + 4, &loop));
      i += loop.launches - 1;
      continue;
    }
    if (const size_t counters = CountersFrom(plan_, steps, i); counters > 1) {
      out += fmt::format("{:{}}{}\n", "", indent, CountersStatement(steps, i, counters, indent));
      i += counters - 1;
      continue;
    }
    const std::string text =
        std::visit(Overloaded{[&](const AtenStep& s) { return AtenStatement(s, indent); },
                              [&](const ConstantStep& s) { return ConstantStatement(s); },
                              [&](const LaunchStep& s) { return LaunchStatement(s, indent); }},
                   *steps[i]);
    out += fmt::format("{:{}}{}\n", "", indent, text);
  }
  return out;
}

std::string Wrapper::Outputs() const {
  std::vector<std::string> leaves;
  for (const Value& value : plan_.outputs) leaves.push_back(Literal(value));
  return ReturnedText(plan_, leaves);
}

}  // namespace tritogen
